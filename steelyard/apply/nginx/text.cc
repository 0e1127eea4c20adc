// The text of a plan: writer, reader and the ownership line of plan.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "steelyard/apply/nginx/plan.h"

namespace steelyard::apply::nginx {
namespace {

constexpr std::string_view kMark = "# steelyard nginx 1 sum=";
constexpr std::string_view kMarkEnd = " (written by steelyard as a whole; edits are undone)\n";
constexpr std::size_t kSumDigits = 16;
constexpr std::size_t kHeader = kMark.size() + kSumDigits + kMarkEnd.size();
constexpr std::string_view kPlaceholder = "unix:/nonexistent";

base::Error invalid(std::string text) {
  return base::Error{.code = base::Code::kInvalid,
                     .origin = base::Origin::kUs,
                     .retry_safe = false,
                     .text = std::move(text)};
}

// FNV-1a, 64 bits: shows an edit, is no secret.
std::uint64_t sum(std::string_view text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

std::string sum_text(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  const std::uint64_t h = sum(text);
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(h >> shift) & 15];
  return out;
}

std::string body(const Plan& plan) {
  std::string out = "upstream " + plan.upstream + " {\n";
  if (plan.balance == Balance::kLeastConn) out += "    least_conn;\n";
  // After the method: a method that follows it replaces it, and connections are not kept.
  if (plan.keepalive > 0) out += "    keepalive " + std::to_string(plan.keepalive) + ";\n";
  const std::string fails = " max_fails=" + std::to_string(plan.max_fails) +
                            " fail_timeout=" + std::to_string(plan.fail_seconds) + "s";
  if (plan.servers.empty()) {
    out += "    server ";
    out += kPlaceholder;
    out += fails + " down;\n";
  }
  for (const Server& s : plan.servers) {
    out += "    server " + s.address.to_text();
    if (s.weight > 0) out += " weight=" + std::to_string(s.weight);
    if (s.trial) out += " max_conns=1";
    out += fails;
    if (s.weight == 0) out += " down";
    out += "; # " + s.name + "\n";
  }
  return out + "}\n";
}

// One statement as Nginx's lexer would see it: words up to ; or { or }, and a comment after it on
// the same line. Quotes, backslashes and $ are errors: we never write them.
struct Statement {
  std::vector<std::string_view> words;
  char end = 0;  // ; { } or 0 at the end of the text
  std::string_view comment;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  base::Result<Statement> next() {
    Statement out;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\n') {
        ++at_;
      } else if (c == ';' || c == '{' || c == '}') {
        ++at_;
        out.end = c;
        out.comment = comment();
        return out;
      } else if (word_byte(c)) {
        const std::size_t from = at_;
        while (at_ < text_.size() && word_byte(text_[at_])) ++at_;
        out.words.push_back(text_.substr(from, at_ - from));
      } else {
        return invalid("byte " + quoted(text_.substr(at_, 1)) + " where none of ours can be");
      }
    }
    return out;
  }

 private:
  static bool word_byte(char c) noexcept {
    return c > 0x20 && c < 0x7f &&
           std::string_view(";{}#\"'\\$`").find(c) == std::string_view::npos;
  }
  std::string_view comment() noexcept {
    if (text_.substr(at_, 3) != " # ") return {};
    const std::size_t from = at_ + 3;
    at_ = std::min(text_.find('\n', from), text_.size());
    return text_.substr(from, at_ - from);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<unsigned> number(std::string_view text, unsigned lo, unsigned hi) {
  unsigned out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc{} || end != text.data() + text.size() || out < lo || out > hi ||
      (text.size() > 1 && text[0] == '0')) {
    return std::nullopt;
  }
  return out;
}

struct Line {  // what a server line says
  std::string_view address;
  std::optional<unsigned> weight, max_conns, max_fails, fail_seconds;
  bool down = false;
};

bool take(std::string_view word, std::string_view key, std::optional<unsigned>& to, unsigned lo,
          unsigned hi) {
  if (!word.starts_with(key) || to) return false;
  to = number(word.substr(key.size()), lo, hi);
  return to.has_value();
}

std::optional<Line> server_line(const std::vector<std::string_view>& words) {
  Line out;
  if (words.size() < 2) return std::nullopt;
  out.address = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) {
    std::string_view w = words[i];
    if (w == "down" && !out.down) {
      out.down = true;
    } else if (w.starts_with("fail_timeout=") && w.ends_with('s')) {
      w.remove_suffix(1);
      if (!take(w, "fail_timeout=", out.fail_seconds, 1, 3600)) return std::nullopt;
    } else if (!take(w, "weight=", out.weight, 1, kLargestWeight) &&
               !take(w, "max_conns=", out.max_conns, 1, 1) &&
               !take(w, "max_fails=", out.max_fails, 0, 1000)) {
      return std::nullopt;
    }
  }
  if (!out.max_fails || !out.fail_seconds || out.weight.has_value() == out.down)
    return std::nullopt;
  return out;
}

base::Result<void> add_server(Plan& plan, const Statement& statement, bool first,
                              bool& placeholder) {
  const auto line = server_line(statement.words);
  if (!line) return invalid("a server line that is not ours");
  if (!first && (*line->max_fails != plan.max_fails || *line->fail_seconds != plan.fail_seconds)) {
    return invalid("server lines that differ in max_fails or fail_timeout");
  }
  plan.max_fails = *line->max_fails;
  plan.fail_seconds = *line->fail_seconds;
  if (line->address == kPlaceholder) {
    if (!first || !line->down || !statement.comment.empty()) return invalid("a placeholder astray");
    placeholder = true;
    return {};
  }
  const auto address = base::Address::parse(line->address);
  if (!address || address->to_text() != line->address)
    return invalid("an address that is not ours");
  if (!safe_name(statement.comment)) return invalid("a server line without its node's name");
  plan.servers.push_back(Server{.name = std::string(statement.comment),
                                .address = *address,
                                .weight = line->weight.value_or(0),
                                .trial = line->max_conns.has_value()});
  return {};
}

base::Result<Plan> read_body(std::string_view text) {
  Lexer lexer(text);
  const auto head = lexer.next();
  if (!head) return head.error();
  if (head->end != '{' || head->words.size() != 2 || head->words[0] != "upstream" ||
      !safe_name(head->words[1]) || !head->comment.empty()) {
    return invalid("no upstream block at the beginning");
  }
  Plan out;
  out.upstream = head->words[1];
  out.balance = Balance::kRoundRobin;
  out.keepalive = 0;
  bool placeholder = false;
  for (bool first = true;;) {
    const auto got = lexer.next();
    if (!got) return got.error();
    const Statement& s = *got;
    if (s.end == '}' && s.words.empty() && s.comment.empty()) break;
    if (s.end != ';' || s.words.empty() || placeholder) return invalid("a statement astray");
    if (s.words[0] == "server") {
      if (auto done = add_server(out, s, first, placeholder); !done) return done.error();
      first = false;
    } else if (s.words.size() == 1 && s.words[0] == "least_conn" && first && out.keepalive == 0) {
      out.balance = Balance::kLeastConn;
    } else if (s.words.size() == 2 && s.words[0] == "keepalive" && first) {
      out.keepalive = number(s.words[1], 1, 10000).value_or(0);
      if (out.keepalive == 0) return invalid("a keepalive that is not ours");
    } else {
      return invalid("directive " + quoted(s.words[0]) + " is not ours");
    }
  }
  if (!placeholder && out.servers.empty()) return invalid("no server line");
  const auto rest = lexer.next();
  if (!rest || rest->end != 0 || !rest->words.empty()) return invalid("text after the block");
  return out;
}

}  // namespace

Owner owner(std::string_view text) noexcept {
  if (text.empty()) return Owner::kEmpty;
  if (!text.starts_with(kMark)) return Owner::kForeign;
  if (text.size() < kHeader ||
      text.substr(kHeader - kMarkEnd.size(), kMarkEnd.size()) != kMarkEnd) {
    return Owner::kEdited;
  }
  std::uint64_t stated = 0;
  const char* from = text.data() + kMark.size();
  const auto [end, failed] = std::from_chars(from, from + kSumDigits, stated, 16);
  const bool right =
      failed == std::errc{} && end == from + kSumDigits && stated == sum(text.substr(kHeader));
  return right ? Owner::kOurs : Owner::kEdited;
}

base::Result<Plan> read(std::string_view text) {
  if (owner(text) != Owner::kOurs) return invalid("not a file of ours, or changed since");
  auto out = read_body(text.substr(kHeader));
  // Spacing is free in the lexer, not in our files: what is read must be written the same again.
  if (out && body(*out) != text.substr(kHeader)) return invalid("not as we write it");
  return out;
}

base::Result<std::string> write(const Plan& plan) {
  std::string text = body(plan);
  const auto back = read_body(text);
  if (!back) return invalid("the file would not read back: " + back.error().text);
  if (!(*back == plan)) return invalid("the file would say something else than the plan");
  std::string out(kMark);
  out += sum_text(text);
  out += kMarkEnd;
  out += text;
  return out;
}

}  // namespace steelyard::apply::nginx
