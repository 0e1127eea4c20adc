#include "steelyard/pick/hash_ring.h"

#include <gtest/gtest.h>

#include "steelyard/pick/placement.h"

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

struct Placed : Rig {
  explicit Placed(const std::vector<std::string>& addresses)
      : Rig(std::vector<double>(addresses.size(), 1)) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      upstream.nodes[i].address = *base::Address::parse(addresses[i]);
    }
  }
};

Index home(const HashRing& picker, const Rig& rig, std::string_view key) {
  base::Rng rng(5);
  const auto cursor = picker.make_cursor(rng);
  Input in = rig.input();
  in.key = picker.number(key);
  return picker.pick(in, *cursor, rng).value();
}

TEST(HashRing, SendsKeysWhereNginxDoes) {
  Placed rig({"127.0.0.1:8081", "127.0.0.1:8082", "127.0.0.1:8083"});
  const HashRingOptions options{.placement = Placement::kNginx};
  const auto ports = [&] {
    const HashRing picker(rig.upstream, options);
    std::string out;
    for (int key = 1; key <= 20; ++key) {
      out += static_cast<char>('1' + home(picker, rig, std::to_string(key)));
    }
    return out;
  };
  EXPECT_EQ(ports(), "13131312121121223112");
  rig.upstream.nodes[1].eligibility = model::Eligibility::kOut;
  EXPECT_EQ(ports(), "13131313111111133111");
}

TEST(HashRing, SendsKeysWhereKetamaDoesInBothForms) {
  const Placed rig({"10.0.1.1:11211", "10.0.1.2:11211", "10.0.1.3:11211"});
  const auto at = [&](Placement placement) {
    const HashRing picker(rig.upstream, {.placement = placement});
    std::string out;
    for (const auto* key : {"foo", "bar", "baz", "user:1", "hello"}) {
      out += static_cast<char>('1' + home(picker, rig, key));
    }
    return out;
  };
  EXPECT_EQ(at(Placement::kKetama), "21213");
  EXPECT_EQ(at(Placement::kKetamaPlain), "33312");
}

// HAProxy's ids go by its list, whoever is out.
TEST(HashRing, ANodeThatIsOutLeavesTheIdsOfHaproxy) {
  Placed rig({"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"});
  const HashRingOptions options{.placement = Placement::kHaproxy};
  const HashRing whole(rig.upstream, options);
  rig.upstream.nodes[0].eligibility = model::Eligibility::kOut;
  const HashRing rest(rig.upstream, options);
  int moved = 0;
  for (int key = 0; key < 1000; ++key) {
    const auto before = home(whole, rig, std::to_string(key));
    if (before == 0) continue;
    moved += home(rest, rig, std::to_string(key)) != before;
  }
  EXPECT_EQ(moved, 0);
}

TEST(HashRing, HashesKeysAsItIsTold) {
  const Rig rig{1, 1};
  const auto number = [&](Placement placement) {
    return HashRing(rig.upstream, {.placement = placement}).number("abc");
  };
  EXPECT_EQ(number(Placement::kXxh3), base::xxh3("abc"));
  EXPECT_EQ(number(Placement::kMurmur3), base::murmur3("abc"));
  EXPECT_EQ(number(Placement::kFnv1a), base::fnv1a("abc"));
  EXPECT_EQ(number(Placement::kEnvoy), 0x44bc2cf5ad770999ULL);
  EXPECT_EQ(number(Placement::kNginx), std::uint64_t{base::crc32("abc")} << 32U);
  constexpr std::uint32_t kSdbm = 807794786;
  EXPECT_EQ(number(Placement::kHaproxy), std::uint64_t{haproxy_mix(kSdbm)} << 32U);
}

// Another weight adds points at the node's end, or takes them from there: keys move only to it, or
// only from it.
TEST(HashRing, AnotherWeightMovesKeysOnlyToOrFromItsNode) {
  Rig rig{1, 1, 1, 1, 1, 1, 1, 1};
  const HashRing before(rig.upstream);
  for (const double weight : {1.3, 0.7}) {
    SCOPED_TRACE(weight);
    rig.upstream.nodes[3].weight = weight;
    const HashRing after(rig.upstream);
    int moved = 0;
    for (int key = 0; key < 20'000; ++key) {
      const std::string text = "user-" + std::to_string(key);
      const auto was = home(before, rig, text);
      const auto is = home(after, rig, text);
      if (was == is) continue;
      ++moved;
      ASSERT_EQ(weight > 1 ? is : was, 3U);
    }
    EXPECT_NEAR(moved / 20'000.0, 0.3 / 8, 0.015);
  }
  rig.upstream.nodes[3].weight = 1;
  EXPECT_EQ(HashRing(rig.upstream).ring().points(), before.ring().points());
}

TEST(HashRing, HasPointsByWeightAndAtLeastOne) {
  const Rig rig{1, 2, 1e-6};
  const HashRing picker(rig.upstream, {.points = 100});
  std::vector<int> points(3, 0);
  for (const auto& point : picker.ring().points()) ++points[point.owner];
  EXPECT_EQ(points, (std::vector<int>{100, 200, 1}));
}

}  // namespace
}  // namespace steelyard::pick
