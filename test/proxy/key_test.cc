// A request's key decides its node.
#include <gtest/gtest.h>
#include <set>

#include "test/proxy/sim_rig.h"

namespace steelyard::proxy::testing {
namespace {

constexpr int kUsers = 40;

// Which node each user's request reached.
std::vector<std::size_t> nodes_of_users(SimRig& rig, bool with_key) {
  std::vector<std::size_t> out;
  for (int user = 0; user < kUsers; ++user) {
    std::vector<unsigned> before;
    for (const auto& node : rig.nodes) before.push_back(node.requests);
    SimClient& client = rig.dial();
    client.send("GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n" +
                (with_key ? "X-User: u" + std::to_string(user) + "\r\n" : "") + "\r\n");
    EXPECT_TRUE(rig.until([&] { return client.in.ends_with("ok"); }));
    for (std::size_t i = 0; i < rig.nodes.size(); ++i) {
      if (rig.nodes[i].requests != before[i]) out.push_back(i);
    }
  }
  return out;
}

TEST(Keys, SendTheRequestsOfOneUserToOneNode) {
  for (const std::string picker : {"ring", "maglev", "jump", "rendezvous"}) {
    SCOPED_TRACE(picker);
    SimRig rig({.rules = {.key = "header:X-User"}, .picker = picker});
    for (int i = 0; i < 4; ++i) rig.add_node();
    const auto first = nodes_of_users(rig, true);
    ASSERT_EQ(first.size(), kUsers);
    EXPECT_EQ(std::set(first.begin(), first.end()).size(), 4U);
    EXPECT_EQ(nodes_of_users(rig, true), first);
    EXPECT_NE(nodes_of_users(rig, false), first);  // 4^-40
  }
}

TEST(Cases, HSH_05_ADeadNodesUsersGoToTheOthersAndStayThere) {
  SimRig rig({.rules = {.key = "header:X-User"}, .picker = "ring"});
  for (int i = 0; i < 4; ++i) rig.add_node();
  const auto before = nodes_of_users(rig, true);
  rig.nodes[1].stop_listening();
  for (Conn& conn : rig.nodes[1].conns) conn.reset();
  rig.run(std::chrono::milliseconds(10));
  const auto after = nodes_of_users(rig, true);
  ASSERT_EQ(after.size(), kUsers);
  for (std::size_t user = 0; user < kUsers; ++user) {
    if (before[user] == 1) {
      EXPECT_NE(after[user], 1U) << user;
    } else {
      EXPECT_EQ(after[user], before[user]) << user;
    }
  }
  EXPECT_EQ(nodes_of_users(rig, true), after);
}

// No key, an empty one, one that is huge, one that stands there twice: a choice, and the same one
// for equal keys.
TEST(Cases, HSH_06_AKeyThatIsNotThereIsNoTrouble) {
  SimRig rig({.rules = {.key = "query:ds"}, .picker = "ring"});
  for (int i = 0; i < 3; ++i) rig.add_node();
  for (const std::string& target :
       {std::string("/x"), std::string("/x?ds="), std::string("/x?ds=%00"),
        "/x?ds=" + std::string(6000, 'k'), std::string("/x?ds=1&ds=2")}) {
    SCOPED_TRACE(target.substr(0, 20));
    std::set<std::size_t> used;
    for (int time = 0; time < 12; ++time) {
      std::vector<unsigned> before;
      for (const auto& node : rig.nodes) before.push_back(node.requests);
      SimClient& client = rig.dial();
      client.send("GET " + target + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
      ASSERT_TRUE(rig.until([&] { return client.in.ends_with("ok"); })) << client.in;
      for (std::size_t i = 0; i < rig.nodes.size(); ++i) {
        if (rig.nodes[i].requests != before[i]) used.insert(i);
      }
    }
    const bool has_key = target.find("ds=%") != target.npos || target.size() > 10;
    EXPECT_EQ(used.size() == 1, has_key) << used.size();
  }
}

}  // namespace
}  // namespace steelyard::proxy::testing
