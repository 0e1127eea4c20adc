// The X-Request-Id that a worker gives to requests without one.

#include <gtest/gtest.h>

#include "test/proxy/sim_rig.h"

namespace steelyard::proxy {
namespace {

using testing::SimClient;
using testing::SimNode;
using testing::SimRig;

constexpr std::size_t kDigits = 32;

std::string id_in(const std::string& request) {
  constexpr std::string_view kName = "X-Request-Id: ";
  const auto at = request.find(kName);
  if (at == std::string::npos) return {};
  return request.substr(at + kName.size(), request.find("\r\n", at) - at - kName.size());
}

// 300 requests carry over the last two digits.
std::vector<std::string> ids_of(std::uint64_t seed, std::size_t requests) {
  SimRig::Setup setup;
  setup.seed = seed;
  SimRig rig(std::move(setup));
  SimNode& node = rig.add_node();
  SimClient& client = rig.dial();
  std::vector<std::string> out;
  for (std::size_t i = 1; i <= requests; ++i) {
    client.send("GET /x HTTP/1.1\r\nHost: t\r\n\r\n");
    if (!rig.until([&] { return node.seen.size() == i; })) break;
    out.push_back(id_in(node.seen.back()));
  }
  return out;
}

TEST(RequestId, IsAPrefixOfTheWorkerAndACount) {
  const auto ids = ids_of(1, 300);
  ASSERT_EQ(ids.size(), 300U);
  const auto prefix = ids.front().substr(0, kDigits / 2);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    SCOPED_TRACE(ids[i]);
    ASSERT_EQ(ids[i].size(), kDigits);
    ASSERT_EQ(ids[i].substr(0, kDigits / 2), prefix);
    ASSERT_EQ(ids[i].find_first_not_of("0123456789abcdef"), std::string::npos);
    ASSERT_EQ(std::stoull(ids[i].substr(kDigits / 2), nullptr, 16), i + 1);
  }
}

TEST(RequestId, OfWorkersWithDifferentSeedsDiffer) {
  const auto one = ids_of(1, 1);
  const auto other = ids_of(2, 1);
  ASSERT_EQ(one.size() + other.size(), 2U);
  EXPECT_NE(one, other);
}

TEST(RequestId, OfTheClientIsKept) {
  SimRig rig;
  SimNode& node = rig.add_node();
  rig.dial().send("GET /x HTTP/1.1\r\nHost: t\r\nX-Request-Id: mine\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return node.seen.size() == 1; }));
  EXPECT_EQ(id_in(node.seen.back()), "mine");
}

}  // namespace
}  // namespace steelyard::proxy
