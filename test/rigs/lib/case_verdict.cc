#include "test/rigs/lib/case_verdict.h"

#include <algorithm>

#include "test/rigs/lib/cases.h"

namespace steelyard::rigs {
namespace {

using nlohmann::json;

bool lists(const json& row, const char* key, const json& value) {
  if (!row.contains(key)) return false;
  return std::any_of(row[key].begin(), row[key].end(),
                     [&](const json& one) { return one == value; });
}

bool count_fits(const json& wanted, const std::string& outcome, std::size_t count) {
  if (wanted.is_number()) return wanted.get<std::size_t>() == count;
  if (wanted.is_object()) {
    return !wanted.contains(outcome) || count_fits(wanted[outcome], outcome, count);
  }
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const json& one) { return one.get<std::size_t>() == count; });
}

// The final answers in what a client got, whole or not.
struct Answers {
  std::vector<Head> heads;
  std::vector<std::string> bodies;
  bool whole = true;
};

Answers answers_in(const ClientSeen& client, bool head_only) {
  Answers out;
  MessageReader reader(MessageReader::Kind::kAnswer);
  reader.no_body(head_only);
  reader.on_head = [&](const Head& head) {
    out.heads.push_back(head);
    out.bodies.emplace_back();
  };
  reader.on_body = [&](std::string_view bytes) { out.bodies.back().append(bytes); };
  reader.on_end = [&] { reader.expect(); };
  const bool right = reader.feed(client.bytes);
  out.whole = right && (!reader.inside() || (client.closed && !client.reset && reader.end()));
  return out;
}

void expect_facts(const json& facts, const Recorded::Request& first,
                  std::vector<std::string>& wrong) {
  if (facts.contains("body") && first.body != latin1(facts["body"])) wrong.push_back("other body");
  if (facts.contains("target") && first.head.target() != latin1(facts["target"])) {
    wrong.push_back("other target: " + std::string(first.head.target()));
  }
  if (facts.contains("request_line") && first.head.first != facts["request_line"]) {
    wrong.push_back("other request line: " + first.head.first);
  }
  if (facts.contains("header_count")) {
    for (const auto& [name, count] : facts["header_count"].items()) {
      if (first.head.all(name).size() != count.get<std::size_t>()) {
        wrong.push_back("other count of " + name);
      }
    }
  }
  for (const std::string entry : facts.value("absent", json::array())) {
    const auto colon = std::min(entry.find(':'), entry.size());
    for (const auto value : first.head.all(entry.substr(0, colon))) {
      if (colon == entry.size() || value.find(entry.substr(colon + 1)) != value.npos) {
        wrong.push_back("forwarded: " + entry);
      }
    }
  }
}

int last_status(const Answers& answers) {
  return answers.heads.empty() ? 0 : answers.heads.back().status();
}

}  // namespace

std::string outcome_of(const json& row, const ClientSeen& client, const Recorded& back) {
  if (row["kind"] == "request") {
    const auto answers = answers_in(client, false);
    const int status = last_status(answers);
    if (status >= 400 && lists(row, "accept", "wait") && !lists(row, "accept", "reject"))
      return "wait";
    if (status >= 400) return "reject";
    if (!back.requests.empty()) return "forward";
    if (status > 0) return "answer";
    return client.closed && !lists(row, "accept", "wait") ? "reject" : "wait";
  }
  const auto answers = answers_in(client, row["request"].get<std::string>().starts_with("HEAD "));
  const int status = last_status(answers);
  if (status == 0) return client.closed ? "truncate" : "nothing";
  // Our own answers are told by their text; a node's 502 is relayed.
  const bool own = !answers.bodies.back().empty() &&
                   answers.bodies.back().starts_with(std::to_string(status) + " ");
  if (own && status == 504) return "gateway_timeout";
  if (own && status == 502) return "bad_gateway";
  return answers.whole ? "relay" : "truncate";
}

std::vector<std::string> judge_request_case(const json& row, const ClientSeen& client,
                                            const Recorded& back) {
  std::vector<std::string> wrong;
  const auto outcome = outcome_of(row, client, back);
  const auto answers = answers_in(client, false);
  if (!lists(row, "accept", outcome)) {
    wrong.push_back("outcome " + outcome + ", status " + std::to_string(last_status(answers)));
  }
  const int status = last_status(answers);
  if (outcome == "reject" && status > 0 && !lists(row, "status", status)) {
    wrong.push_back("status " + std::to_string(status));
  }
  if (!count_fits(row["upstream_requests"], outcome, back.requests.size())) {
    wrong.push_back(std::to_string(back.requests.size()) + " requests upstream");
  }
  for (const std::string marker : row.value("never_upstream", json::array())) {
    for (const auto& request : back.requests) {
      if (request.head.target().find(marker) != std::string_view::npos) {
        wrong.push_back("upstream: " + request.head.first);
      }
    }
  }
  if (outcome == "forward" && row.contains("forwarded") && !back.requests.empty()) {
    expect_facts(row["forwarded"], back.requests.front(), wrong);
  }
  if (row["conn"] == "close" && !client.closed && outcome != "wait") wrong.push_back("still open");
  if (row["conn"] == "keep" && client.closed) wrong.push_back("closed");
  return wrong;
}

std::vector<std::string> judge_answer_case(const json& row, const ClientSeen& client,
                                           const std::string& outcome) {
  std::vector<std::string> wrong;
  if (lists(row, "accept", "discard")) {
    // The bytes must not have become somebody's answer.
    if (client.bytes.find("poison") != std::string::npos ||
        client.bytes.find("HTTP/1.1 408") != std::string::npos) {
      wrong.push_back("bytes that nobody asked for were relayed");
    }
    return wrong;
  }
  if (!lists(row, "accept", outcome) &&
      !(outcome == "relay" && lists(row, "accept", "drop_field"))) {
    wrong.push_back("outcome " + outcome);
  }
  const auto answers = answers_in(client, row["request"].get<std::string>().starts_with("HEAD "));
  if (outcome == "relay") {
    const int status = last_status(answers);
    if (row.contains("status") && !lists(row, "status", status)) {
      wrong.push_back("status " + std::to_string(status));
    }
    const auto facts = row.value("client_sees", json::object());
    if (facts.contains("body") && answers.bodies.back() != latin1(facts["body"])) {
      wrong.push_back("other body");
    }
  }
  return wrong;
}

}  // namespace steelyard::rigs
