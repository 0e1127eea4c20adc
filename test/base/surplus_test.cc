#include "steelyard/base/surplus.h"

#include <gtest/gtest.h>

#include "steelyard/base/rng.h"

namespace steelyard::base {
namespace {

constexpr unsigned kWindow = Surplus::kLooks * (Surplus::kParts + 1);  // at most

// What a pool does with it.
struct Pool {
  std::size_t used = 0;
  std::size_t free = 0;
  std::size_t made = 0;
  Surplus surplus;

  void use(std::size_t many) {
    for (; used < many; ++used) {
      free > 0 ? --free : ++made;
      surplus.taken(free);
    }
    free += used - many;
    used = many;
  }
  void look(std::size_t most = 1000) {
    surplus.look(free);
    const auto going = std::min(surplus.count(), most);
    free -= going;
    surplus.gone(going);
  }
  void look_for(unsigned looks) {
    while (looks-- > 0) look();
  }
  [[nodiscard]] std::size_t size() const { return used + free; }
};

TEST(Surplus, IsNothingBeforeAWholeWindowIsOver) {
  Pool pool;
  pool.use(100);
  pool.use(0);
  for (unsigned i = 1; i < kWindow; ++i) {
    pool.look();
    ASSERT_EQ(pool.size(), 100U) << i;
  }
}

TEST(Surplus, IsWhatTheWindowDidNotNeed) {
  Pool pool;
  pool.use(100);
  pool.look_for(3 * kWindow);
  EXPECT_EQ(pool.size(), 100U);
  pool.use(30);
  pool.look_for(kWindow - 1);
  EXPECT_EQ(pool.size(), 100U) << "the crowd was within the window";
  pool.look();
  EXPECT_EQ(pool.size(), 30U);
}

TEST(Surplus, AMomentBetweenTwoLooksCounts) {
  Pool pool;
  pool.use(100);
  pool.use(0);
  for (unsigned i = 0; i < 5 * kWindow; ++i) {
    if (i % (Surplus::kLooks * Surplus::kParts) == 7) {
      pool.use(60);
      pool.use(10);
    }
    pool.look();
  }
  EXPECT_EQ(pool.size(), 60U);
  EXPECT_EQ(pool.made, 100U);
}

TEST(Surplus, GoesInStepsAsLargeAsThePoolLikes) {
  Pool pool;
  pool.use(100);
  pool.use(5);
  pool.look_for(kWindow - 1);
  for (std::size_t want = 100; want > 5; want -= std::min<std::size_t>(10, want - 5)) {
    ASSERT_EQ(pool.size(), want);
    pool.look(10);
  }
  pool.look_for(2 * kWindow);
  EXPECT_EQ(pool.size(), 5U);
}

TEST(Surplus, ALoadAsWithinTheWindowNeverMakesAny) {
  Rng rng(1);
  for (int run = 0; run < 20; ++run) {
    Pool pool;
    const auto most = 1 + rng.below(200);
    pool.use(most + rng.below(500));  // a crowd, once
    pool.use(0);
    const auto before = pool.made;
    for (unsigned i = 0; i < 10 * kWindow; ++i) {
      pool.use(rng.below(most));
      if (i % (kWindow / 2) == 0) pool.use(most);
      pool.use(rng.below(most));
      pool.look(1 + rng.below(50));
    }
    EXPECT_EQ(pool.made, before);
    EXPECT_EQ(pool.size(), most);
  }
}

TEST(Surplus, AfterItIsGoneACrowdIsKeptAnew) {
  Pool pool;
  for (int crowd = 0; crowd < 3; ++crowd) {
    pool.use(100);
    pool.use(1);
    pool.look_for(2 * kWindow);
    EXPECT_EQ(pool.size(), 1U);
  }
  EXPECT_EQ(pool.made, 100U + 99U + 99U);
}

}  // namespace
}  // namespace steelyard::base
