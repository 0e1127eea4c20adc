// Requests that are meant for somebody else, or for nobody behind us.

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace steelyard::proxy
