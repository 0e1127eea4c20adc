// The cases of http_cases.jsonl end to end: what a client or a node can do to the framing of
// messages never reaches the other side, and never the next exchange.

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/paths.h"
#include "test/proxy/sim_rig.h"

namespace steelyard::proxy {
namespace {

using nlohmann::json;
using testing::Conn;
using testing::kOk;
using testing::SimClient;
using testing::SimNode;
using testing::SimRig;
using namespace std::chrono_literals;

std::string latin1(const std::string& utf8) {  // one character is one byte
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    out += c < 0x80
               ? utf8[i]
               : static_cast<char>((c & 3U) << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3fU));
  }
  return out;
}

std::string raw_of(const json& row) {
  if (row.contains("raw")) return row["raw"].is_null() ? "" : latin1(row["raw"]);
  std::string out;
  for (const json& part : row["parts"]) {
    for (int i = 0; i < part[1].get<int>(); ++i) out += latin1(part[0]);
  }
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

bool lists(const json& list, int value) {
  return std::any_of(list.begin(), list.end(), [&](const json& one) { return one == value; });
}

TEST(HttpCases, NoRequestSmugglesAnotherPastUs) {
  const auto rows = load("request");
  ASSERT_GT(rows.size(), 150U);
  for (const json& row : rows) {
    SCOPED_TRACE(row["id"].get<std::string>() + " " + row["name"].get<std::string>());
    SimRig rig;
    std::string arrived;  // start lines of what the node takes for requests
    rig.add_node([&](SimNode& node, Conn& conn) {
      std::string whole;
      while (conn.next_request(whole)) {
        ++node.requests;
        arrived += whole.substr(0, whole.find('\r')) + "\n";
        // Framed by us, one way only, whatever came.
        const auto head = whole.substr(0, whole.find("\r\n\r\n"));
        EXPECT_FALSE(head.find("Content-Length") != std::string::npos &&
                     head.find("Transfer-Encoding") != std::string::npos);
        conn.send(whole.starts_with("HEAD ") ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
                                             : kOk);
      }
    });
    SimClient& client = rig.dial();
    client.send(raw_of(row));
    rig.run(200ms);
    if (row.contains("steps") && row["steps"].dump().find("shutdown_write") != std::string::npos) {
      client.peer->end();
    }
    rig.run(200ms);
    for (const std::string never : row.value("never_upstream", json::array())) {
      EXPECT_EQ(arrived.find(never), std::string::npos) << arrived;
    }
    if (client.status() != 0 && row.contains("status")) {
      EXPECT_TRUE(lists(row["status"], client.status()) || client.status() == 200) << client.in;
    }
    client.peer.reset();
    rig.run(5s);
    EXPECT_EQ(rig.worker->exchanges(), 0U);
    EXPECT_EQ(rig.in_flight(), 0U);
  }
}

TEST(HttpCases, NoAnswerReachesTheNextExchange) {
  const auto rows = load("response");
  ASSERT_GT(rows.size(), 50U);
  for (const json& row : rows) {
    // An answer before the request: told apart only before the request is out, which the codec's
    // own test shows.
    if (row["id"] == "r073") continue;
    SCOPED_TRACE(row["id"].get<std::string>() + " " + row["name"].get<std::string>());
    SimRig rig;
    const std::string raw = raw_of(row);
    const std::string after = row["backend_after"];
    bool told = false;
    base::TimePoint when{};
    rig.add_node([&](SimNode& node, Conn& conn) {
      std::string whole;
      if (node.requests == 0 && conn.in.find("\r\n\r\n") != std::string::npos) {
        ++node.requests;  // some cases answer before the request has ended
        conn.in.clear();
        conn.send(raw);
      } else if (conn.next_request(whole)) {
        ++node.requests;
        conn.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfresh");
      } else if (node.requests == 1 && conn.out.empty() && !std::exchange(told, true)) {
        when = rig.now();
      } else if (told && node.requests == 1 && rig.now() > when + 5ms) {
        if (after == "fin") conn.end();
        if (after == "rst") conn.reset();
        told = false;
        ++node.requests;
      }
    });
    SimClient& client = rig.dial();
    client.send(latin1(row["request"]));
    rig.run(12s);  // longer than the head time-out
    const auto last = client.in.rfind("HTTP/1.1 ");
    const int status = last == std::string::npos ? 0 : std::atoi(client.in.c_str() + last + 9);
    if (row.contains("status") && row["accept"].dump().find("bad_gateway") == std::string::npos) {
      EXPECT_TRUE(status == 0 || lists(row["status"], status)) << client.in;
    }
    EXPECT_EQ(rig.in_flight(), 0U) << client.in;
    if (row["upstream_reuse"] == false) {
      EXPECT_EQ(rig.pooled(), 0U);
    }
    if (row["upstream_reuse"] == true) {  // r069 says that it keeps it for 5 s
      EXPECT_EQ(rig.pooled() + rig.worker->metrics().pool_retired.read(), 1U);
    }
    SimClient& next = rig.dial();
    next.send("GET /next HTTP/1.1\r\nHost: t\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return next.in.ends_with("fresh"); }, 20s)) << next.in;
    EXPECT_EQ(next.status(), 200);
  }
}

}  // namespace
}  // namespace steelyard::proxy
