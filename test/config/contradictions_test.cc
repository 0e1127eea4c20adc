#include "steelyard/config/contradictions.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/config/load.h"

namespace steelyard::config {
namespace {

// What is said of a route with this line, which is the sixth and begins at column 9.
std::string said_of(std::string_view line) {
  return load(
             "upstreams:\n"
             "  a: { nodes: [127.0.0.1:1, 127.0.0.1:2] }\n"
             "listeners:\n"
             "  - address: 127.0.0.1:8080\n"
             "    routes:\n"
             "      - { upstream: a, " +
                 std::string(line) + " }\n",
             "f")
      .report();
}

struct Row {
  std::string_view name, line, want;
};

void expect_all(const std::vector<Row>& rows) {
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string want = row.want.empty() ? "" : "f:6:" + std::string(row.want) + "\n";
    EXPECT_EQ(said_of(row.line), want);
  }
}

TEST(Contradictions, ATimeThatComesAfterTheAttemptHasFailedIsTold) {
  expect_all({
      {"a hedge behind the default of the head", "hedge: { after: 20s }",
       "40: warning: listeners[0].routes[0].hedge.after: is not shorter than timeouts.head (10s), "
       "at which the attempt fails: it never takes effect"},
      {"a hedge at the head", "timeouts: { head: 3s }, hedge: { after: 3s }",
       "64: warning: listeners[0].routes[0].hedge.after: is not shorter than timeouts.head (3s), "
       "at which the attempt fails: it never takes effect"},
      {"a hedge before it", "hedge: { after: 9999ms }", ""},
      {"a hedge while a slow connect lasts", "timeouts: { connect: 30s }, hedge: { after: 20s }",
       ""},
      {"a hedge behind a slow connect", "timeouts: { connect: 30s }, hedge: { after: 30s }",
       "68: warning: listeners[0].routes[0].hedge.after: is not shorter than timeouts.connect "
       "(30s), at which the attempt fails: it never takes effect"},
      {"the least of a measured time", "hedge: { least: 1m }",
       "40: warning: listeners[0].routes[0].hedge.least: is not shorter than timeouts.head (10s), "
       "at which the attempt fails: it never takes effect"},
      {"the least of a time that is not measured", "hedge: { after: 1s, least: 1ms }",
       "51: warning: listeners[0].routes[0].hedge.least: has no effect: hedge.after is set, "
       "nothing is measured"},
      {"an attempt longer than all its parts", "retry: { timeout: 20s }",
       "42: warning: listeners[0].routes[0].retry.timeout: is not shorter than timeouts.connect "
       "and timeouts.head together (11s), at which the attempt fails: it never takes effect"},
      {"an attempt longer than one of them", "retry: { timeout: 10500ms }", ""},
      {"once, where the total ends first",
       "timeouts: { total: 5s, head: 1s }, hedge: { after: 6s }",
       "75: warning: listeners[0].routes[0].hedge.after: is not shorter than timeouts.total, so it "
       "never takes effect"},
      {"nothing of a value that is not read", "timeouts: { head: 1x }, hedge: { after: 20s }",
       "42: listeners[0].routes[0].timeouts.head: is 1x, has the unknown unit \"x\": units are "
       "ns, us, ms, s, m, h, d"},
  });
}

TEST(Contradictions, TimeIsToldOnlyOfATotal) {
  expect_all({
      {"without one", "timeouts: { tell: true }",
       "42: warning: listeners[0].routes[0].timeouts.tell: has no effect: there is no total of "
       "which time could be left"},
      {"switched off", "timeouts: { tell: true, total: off }",
       "42: warning: listeners[0].routes[0].timeouts.tell: has no effect: there is no total of "
       "which time could be left"},
      {"with one", "timeouts: { tell: true, total: 1m }", ""},
  });
}

TEST(Contradictions, ProtocolsPastTheRoutesAndMisspeltOnesAreTold) {
  const std::string h2c =
      ": requests inside such a connection reach the node past every route; leave it out";
  const std::string at = "34: warning: listeners[0].routes[0].upgrades: names ";
  const std::vector<std::string> wants{at + "\"h2c\"" + h2c, at + "\"H2C/1\"" + h2c,
                                       at + "\"websockt\", did you mean \"websocket\"?",
                                       at + "\"web_sockets\", did you mean \"websocket\"?"};
  expect_all({
      {"HTTP/2 without TLS", "upgrades: [h2c]", wants[0]},
      {"with a version", "upgrades: [WebSocket, H2C/1]", wants[1]},
      {"a letter short", "upgrades: [websockt]", wants[2]},
      {"two letters long", "upgrades: [web_sockets]", wants[3]},
      {"as it is spelled", "upgrades: [websocket, WebSocket]", ""},
      {"others", "upgrades: [IRC/6.9, spdy/3, tcp]", ""},
  });
}

}  // namespace
}  // namespace steelyard::config
