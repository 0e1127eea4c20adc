#include "test/rigs/lib/history.h"

#include <array>
#include <chrono>
#include <fstream>
#include <sstream>

namespace steelyard::rigs {
namespace {

constexpr std::array<std::string_view, 9> kOutcomes{"none",    "answered",  "refused",
                                                    "reset",   "closed",    "truncated",
                                                    "garbled", "timed-out", "foreign"};

Outcome outcome_of(std::string_view text) {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    if (kOutcomes[i] == text) return static_cast<Outcome>(i);
  }
  return Outcome::kNone;
}

std::string_view method(bool post) { return post ? "POST" : "GET"; }
std::string word(const std::string& text) { return text.empty() ? "-" : text; }

bool add_line(const std::string& line, History& out) {
  std::istringstream in(line);
  char kind = 0;
  std::string how, node, verb;
  in >> kind;
  if (kind == 'A') {
    Asked one;
    in >> one.id >> verb >> one.start >> one.end >> how >> one.status >> node >> one.nonce_ok >>
        one.body_ok;
    one.post = verb == "POST";
    one.outcome = outcome_of(how);
    one.node = node == "-" ? "" : node;
    out.asked.push_back(one);
  } else if (kind == 'S' || kind == 'C') {
    Served one;
    in >> one.id >> verb >> one.node >> one.at;
    if (kind == 'C') in >> one.bytes >> one.digest;
    one.post = verb == "POST";
    one.whole = kind == 'C';
    out.served.push_back(one);
  } else if (kind == 'W') {
    Weighed one;
    in >> one.at >> one.node >> one.state >> one.weight >> one.floor >> one.cap >> one.share;
    out.weighed.push_back(one);
  } else {
    return false;
  }
  return !in.fail();
}

}  // namespace

Micros now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string_view to_text(Outcome outcome) {
  return kOutcomes.at(static_cast<std::size_t>(outcome));
}

std::string line_of(const Asked& a) {
  std::ostringstream out;
  out << "A " << a.id << ' ' << method(a.post) << ' ' << a.start << ' ' << a.end << ' '
      << to_text(a.outcome) << ' ' << a.status << ' ' << word(a.node) << ' ' << a.nonce_ok << ' '
      << a.body_ok << '\n';
  return out.str();
}

std::string line_of(const Served& s) {
  std::ostringstream out;
  out << (s.whole ? "C " : "S ") << s.id << ' ' << method(s.post) << ' ' << word(s.node) << ' '
      << s.at;
  if (s.whole) out << ' ' << s.bytes << ' ' << s.digest;
  out << '\n';
  return out.str();
}

std::string line_of(const Weighed& w) {
  std::ostringstream out;
  out.precision(17);
  out << "W " << w.at << ' ' << word(w.node) << ' ' << word(w.state) << ' ' << w.weight << ' '
      << w.floor << ' ' << w.cap << ' ' << w.share << '\n';
  return out.str();
}

bool read_history(const std::string& path, History& out) {
  std::ifstream file(path);
  if (!file) return false;
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) return true;  // no line end: its writer was killed
    if (!add_line(line, out)) return false;
  }
  return true;
}

bool write_history(const std::string& path, const History& history) {
  std::ofstream file(path);
  for (const auto& one : history.asked) file << line_of(one);
  for (const auto& one : history.served) file << line_of(one);
  for (const auto& one : history.weighed) file << line_of(one);
  return static_cast<bool>(file.flush());
}

}  // namespace steelyard::rigs
