// What every picker that goes by a key must do, beside what all pickers must.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#include "steelyard/pick/hash_ring.h"
#include "steelyard/pick/maglev.h"

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

constexpr int kKeys = 100'000;

std::vector<const Kind*> keyed() {
  std::vector<const Kind*> out;
  for (const Kind& kind : kinds()) {
    if (kind.keyed) out.push_back(&kind);
  }
  return out;
}

class KeyedPickers : public testing::TestWithParam<const Kind*> {
 protected:
  const Kind& kind = *GetParam();
  base::Rng rng{77};
  std::unique_ptr<Cursor> cursor = kind.make(Rig{}.upstream)->make_cursor(rng);

  Index pick(const Picker& picker, const Rig& rig, int key,
             std::span<const model::NodeRef> tried = {}) {
    Input in = rig.input(tried);
    in.key = picker.number("key-" + std::to_string(key));
    return picker.pick(in, *cursor, rng).value();
  }
};
INSTANTIATE_TEST_SUITE_P(AllKeyed, KeyedPickers, testing::ValuesIn(keyed()),
                         [](const auto& row) { return std::string(row.param->name); });

std::unique_ptr<const Picker> bounded(const Kind& kind, const model::TableUpstream& upstream,
                                      double bound) {
  schema::Choice choice{std::string(kind.name), nullptr};
  if (kind.name == "ring") {
    choice.options = std::make_shared<HashRingOptions>(HashRingOptions{.keyed = {bound}});
  } else if (kind.name == "maglev") {
    choice.options = std::make_shared<MaglevOptions>(MaglevOptions{.keyed = {bound}});
  } else {
    choice.options = std::make_shared<KeyedOptions>(KeyedOptions{bound});
  }
  return kind.make(upstream, choice);
}

TEST_P(KeyedPickers, SendAKeyToOneNodeWhoeverAsks) {
  const Rig rig{1, 1, 1, 2, 1};
  const auto picker = kind.make(rig.upstream);
  const auto other_worker = kind.make(rig.upstream);
  for (int key = 0; key < 1000; ++key) {
    const auto at = pick(*picker, rig, key);
    (void)picker->pick(rig.input(), *cursor, rng);  // one without a key moves nothing
    ASSERT_EQ(pick(*picker, rig, key), at);
    ASSERT_EQ(pick(*other_worker, rig, key), at);
  }
}

TEST_P(KeyedPickers, SpreadKeysAsTheySayTheirSharesAre) {
  const Rig rig{3, 1, 2, 1, 1, 1, 1, 1, 1, 1};
  const auto picker = kind.make(rig.upstream);
  std::vector<double> hits(10, 0);
  for (int key = 0; key < kKeys; ++key) ++hits[pick(*picker, rig, key)];
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const double share = rig.share(kind, i);
    EXPECT_NEAR(hits[i] / kKeys, share, 5 * std::sqrt(share * (1 - share) / kKeys)) << i;
  }
}

// Its own keys are spread over the others, each to one, and come back with it.
TEST_P(KeyedPickers, ANodeThatIsFullMovesItsOwnKeysOnly) {
  const Rig rig{1, 1, 1, 1, 1};
  const auto picker = kind.make(rig.upstream);
  std::vector<Index> home(kKeys);
  for (int key = 0; key < kKeys; ++key)
    home[static_cast<std::size_t>(key)] = pick(*picker, rig, key);
  rig.line(2).max_in_flight = 1;
  rig.line(2).in_flight = 1;
  std::vector<int> gained(5, 0);
  for (int key = 0; key < kKeys; ++key) {
    const Index now = pick(*picker, rig, key);
    const Index before = home[static_cast<std::size_t>(key)];
    if (before != 2) {
      ASSERT_EQ(now, before);
      continue;
    }
    ASSERT_NE(now, 2U);
    ASSERT_EQ(pick(*picker, rig, key), now);
    ++gained[now];
  }
  for (const std::size_t other : {0U, 1U, 3U, 4U}) EXPECT_GT(gained[other], kKeys / 50) << other;
  rig.line(2).in_flight = 0;
  for (int key = 0; key < kKeys; ++key) {
    ASSERT_EQ(pick(*picker, rig, key), home[static_cast<std::size_t>(key)]);
  }
}

TEST_P(KeyedPickers, FindTheLastNodeThatIsLeftForEveryKey) {
  const Rig rig(std::vector<double>(50, 1));
  const auto picker = kind.make(rig.upstream);
  for (std::size_t i = 0; i < 50; ++i) {
    if (i == 17) continue;
    rig.line(i).max_in_flight = 1;
    rig.line(i).in_flight = 1;
  }
  for (int key = 0; key < 2000; ++key) ASSERT_EQ(pick(*picker, rig, key), 17U);
}

// Out of rotation: the Table says so, and the picker is made anew.
TEST_P(KeyedPickers, MoveFewKeysOfTheOthersWhenANodeIsOut) {
  Rig rig(std::vector<double>(100, 1));
  const auto whole = kind.make(rig.upstream);
  std::vector<Index> home(kKeys);
  for (int key = 0; key < kKeys; ++key)
    home[static_cast<std::size_t>(key)] = pick(*whole, rig, key);
  rig.upstream.nodes[40].eligibility = model::Eligibility::kOut;
  const auto rest = kind.make(rig.upstream);
  int moved = 0;
  for (int key = 0; key < kKeys; ++key) {
    const Index before = home[static_cast<std::size_t>(key)];
    const Index now = pick(*rest, rig, key);
    ASSERT_NE(now, 40U);
    moved += before != 40 && now != before;
  }
  EXPECT_LE(moved, kind.name == "maglev" ? kKeys / 100 : 0);
}

// By who the nodes are, not by where they stand. (jump goes by the list, and says so.)
TEST_P(KeyedPickers, HSH_01_KeysFollowIdentityNotTheList) {
  const bool by_place = kind.name == "jump";
  Rig rig(std::vector<double>(10, 1));
  const auto homes = [&](const model::TableUpstream& upstream) {
    const auto picker = kind.make(upstream);
    std::string out;
    for (int key = 0; key < 10'000; ++key) out += upstream.nodes[pick(*picker, rig, key)].name;
    return out;
  };
  const std::string before = homes(rig.upstream);
  EXPECT_EQ(homes(rig.ordered({7, 2, 9, 0, 4, 6, 1, 3, 8, 5})) == before, !by_place);
  const std::string after = homes(rig.ordered({0, 1, 2, 3, 4, 5, 6, 8, 9}));
  int others = 0;
  for (std::size_t key = 0; key < before.size(); ++key) {
    others += before[key] != 'h' && after[key] != before[key] ? 1 : 0;
  }
  if (by_place) {
    EXPECT_GT(others, 1000);
  } else {
    EXPECT_LE(others, kind.name == "maglev" ? 100 : 0);
  }
}

TEST_P(KeyedPickers, HSH_02_AWeightMovesKeysToItsNodeAndBack) {
  Rig rig(std::vector<double>(10, 1));
  const auto homes = [&] {
    const auto picker = kind.make(rig.upstream);
    std::vector<Index> out;
    for (int key = 0; key < 50'000; ++key) out.push_back(pick(*picker, rig, key));
    return out;
  };
  const auto before = homes();
  const double share = rig.share(kind, 4);
  rig.upstream.nodes[4].weight = 3;
  const auto raised = homes();
  int moved = 0;
  int elsewhere = 0;
  for (std::size_t key = 0; key < before.size(); ++key) {
    moved += raised[key] != before[key] ? 1 : 0;
    elsewhere += raised[key] != before[key] && raised[key] != 4 ? 1 : 0;
  }
  EXPECT_LE(moved, 50'000 * (rig.share(kind, 4) - share + 0.02));
  const double gained = kind.weighted ? 3.0 / 12 - 1.0 / 10 : 0;
  EXPECT_NEAR(moved, 50'000 * gained, 50'000 * gained * (0.1 + 4 * unevenness(kind)));
  EXPECT_LE(elsewhere, kind.name == "maglev" ? 500 : 0);
  rig.upstream.nodes[4].weight = 1;
  EXPECT_TRUE(homes() == before);
}

// Requests stay in flight for ever, 10,000 of them, with keys as unequal as Zipf's.
TEST_P(KeyedPickers, ABoundHoldsWhateverTheKeys) {
  for (const double bound : {1.1, 1.25, 2.0}) {
    SCOPED_TRACE(bound);
    const Rig rig(std::vector<double>(20, 1));
    const auto picker = bounded(kind, rig.upstream, bound);
    const auto unbounded = kind.make(rig.upstream);
    std::vector<double> sums;
    double sum = 0;
    for (int rank = 1; rank <= 1000; ++rank) sums.push_back(sum += 1.0 / rank);
    const auto fresh = picker->make_cursor(rng);
    int overflowed = 0;
    for (int m = 0; m < 10'000; ++m) {
      const auto key = std::lower_bound(sums.begin(), sums.end(), rng.unit() * sum) - sums.begin();
      Input in = rig.input();
      in.key = picker->number("key-" + std::to_string(key));
      const auto at = picker->pick(in, *fresh, rng).value();
      ++rig.line(at).in_flight;
      const double most = std::ceil(bound * (m + 1) / 20);
      // A sum stands for two picks.
      ASSERT_LE(rig.line(at).in_flight, std::max(1.0, most)) << m;
      overflowed += at != pick(*unbounded, rig, static_cast<int>(key)) ? 1 : 0;
    }
    EXPECT_GT(overflowed, 500);
  }
}

}  // namespace
}  // namespace steelyard::pick
