// Requests that are meant for somebody else, or for nobody behind us.

#include <gtest/gtest.h>

#include "steelyard/http/rewrite.h"

#include "test/proxy/logged.h"

namespace steelyard::proxy {
namespace {

using testing::Logged;
using testing::SimClient;
using testing::SimRig;
using namespace std::chrono_literals;

SimRig::Setup trusting() {
  SimRig::Setup setup;
  setup.listener.trusted = {"127.0.0.0/8"};
  return setup;
}

TEST(Targets, HttpsOnAPlainConnectionIsMisdirected) {
  for (const std::string_view line :
       {"GET https://t/x", "GET HTTPS://t", "POST https://t:8080/?a", "OPTIONS https://t"}) {
    SCOPED_TRACE(line);
    Logged logged("$status $reason");
    SimRig& rig = *logged.rig;
    rig.add_node();
    SimClient& client = rig.dial();
    client.send(std::string(line) + " HTTP/1.1\r\nHost: t\r\nX-Forwarded-Proto: https\r\n\r\n");
    ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
    EXPECT_EQ(client.status(), 421);
    EXPECT_EQ(logged.lines(1), "421 misdirected\n");
    client.in.clear();
    client.send("GET http://t/x HTTP/1.1\r\nHost: t\r\n\r\n");  // the connection is good for more
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    EXPECT_EQ(rig.nodes[0].requests, 1U);
  }
}

TEST(Targets, ATrustedProxyMaySayThatItsClientCameByTls) {
  SimRig rig(trusting());
  rig.add_node();
  SimClient& client = rig.dial();
  client.send("GET https://t/x HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  const auto& seen = rig.nodes[0].seen.at(0);
  EXPECT_TRUE(seen.starts_with("GET /x HTTP/1.1\r\n")) << seen;
  EXPECT_NE(seen.find("\r\nX-Forwarded-Proto: https\r\n"), std::string::npos) << seen;
}

std::string options(std::string_view fields, std::string_view target = "/x") {
  return "OPTIONS " + std::string(target) + " HTTP/1.1\r\nHost: t\r\n" + std::string(fields) +
         "\r\n";
}

TEST(Targets, OptionsThatMayGoNoFurtherIsAnsweredHere) {
  for (const std::string_view target : {"/x", "*", "http://t"}) {
    for (const std::string_view fields : {"Max-Forwards: 0\r\n", "max-forwards: 000\r\n",
                                          "Connection: Max-Forwards\r\nMax-Forwards:0\r\n",
                                          "Max-Forwards: 0\r\nContent-Length: 3\r\n"}) {
      SCOPED_TRACE(fields);
      Logged logged("$status $reason $body_bytes_sent");
      SimRig& rig = *logged.rig;
      rig.add_node();
      SimClient& client = rig.dial();
      const bool body = fields.find("Content-Length") != fields.npos;
      client.send(options(fields, target) + (body ? "abc" : ""));
      ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
      EXPECT_TRUE(client.in.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")) << client.in;
      EXPECT_NE(client.in.find("\r\nAllow: " + std::string(http::kAllowed) + "\r\n"),
                std::string::npos);
      EXPECT_TRUE(client.in.ends_with("\r\n\r\n"));
      EXPECT_EQ(logged.lines(1), "200 no_hop_left 0\n");
      client.in.clear();
      client.send(options(""));
      ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
      EXPECT_EQ(rig.nodes[0].requests, 1U);
    }
  }
  EXPECT_NE(http::error_answer(405).find("\r\nAllow: " + std::string(http::kAllowed) + "\r\n"),
            std::string_view::npos);
}

TEST(Targets, OptionsThatGoesOnIsCountedDown) {
  struct Row {
    std::string_view name, fields, passed;
  };
  for (const Row& row : {
           Row{"one", "Max-Forwards: 1\r\n", "Max-Forwards: 0\r\n"},
           Row{"ten", "MAX-FORWARDS: 10\r\n", "Max-Forwards: 9\r\n"},
           Row{"more than we count", "Max-Forwards: 99999999999999999999\r\n",
               "Max-Forwards: 4294967294\r\n"},
           Row{"named by Connection", "Connection: max-forwards\r\nMax-Forwards: 5\r\n",
               "Max-Forwards: 4\r\n"},
           Row{"no number", "Max-Forwards: 0x\r\n", "Max-Forwards: 0x\r\n"},
           Row{"a sign", "Max-Forwards: -1\r\n", "Max-Forwards: -1\r\n"},
           Row{"nothing", "Max-Forwards:\r\n", "Max-Forwards: \r\n"},
           Row{"twice", "Max-Forwards: 0\r\nMax-Forwards: 3\r\n",
               "Max-Forwards: 0\r\nMax-Forwards: 3\r\n"},
       }) {
    SCOPED_TRACE(row.name);
    SimRig::Setup setup;
    setup.timeouts.total = 10s;  // both fields of ours at once
    setup.timeouts.tell = true;
    SimRig rig(std::move(setup));
    rig.add_node();
    SimClient& client = rig.dial();
    client.send(options(row.fields));
    ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    const auto& seen = rig.nodes[0].seen.at(0);
    EXPECT_NE(seen.find("\r\n" + std::string(row.passed)), std::string::npos) << seen;
    EXPECT_NE(seen.find("\r\nX-Request-Timeout-Ms:  9999\r\n"), std::string::npos) << seen;
  }
}

TEST(Targets, OtherMethodsCountNoHops) {
  SimRig rig;
  rig.add_node();
  SimClient& client = rig.dial();
  client.send("GET / HTTP/1.1\r\nHost: t\r\nMax-Forwards: 0\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
  EXPECT_NE(rig.nodes[0].seen.at(0).find("\r\nMax-Forwards: 0\r\n"), std::string::npos);
}

}  // namespace
}  // namespace steelyard::proxy
