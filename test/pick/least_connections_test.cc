#include "steelyard/pick/least_connections.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

struct Player {
  explicit Player(const Rig& rig_, std::uint64_t phase = 0)
      : rig(rig_), picker(rig_.upstream), cursor(LeastConnections::cursor_at(phase)) {
    picker.adopt(*cursor);
  }
  Index place() {
    const Index at = *picker.pick(rig.input(), *cursor, rng);
    ++rig.line(at).in_flight;
    return at;
  }
  const Rig& rig;
  LeastConnections picker;
  std::unique_ptr<Cursor> cursor;
  base::Rng rng{1};
};

TEST(LeastConnections, HeldRequestsDivideAsTheWeights) {
  for (std::uint64_t phase = 0; phase < 20; ++phase) {
    const Rig rig{3, 2, 1};
    Player run(rig, phase);
    for (int i = 0; i < 12; ++i) run.place();
    EXPECT_EQ(rig.line(0).in_flight, 6U);
    EXPECT_EQ(rig.line(1).in_flight, 4U);
    EXPECT_EQ(rig.line(2).in_flight, 2U);
  }
}

// Whatever is held, no node is a whole request away from its share.
TEST(LeastConnections, LCN_05_FewConnectionsAreTheNearestWholeSplit) {
  for (std::uint64_t phase = 0; phase < 14; ++phase) {
    const Rig rig{2, 5};
    Player run(rig, phase);
    for (int n = 1; n <= 20; ++n) {
      run.place();
      EXPECT_LE(std::abs(rig.line(0).in_flight - n * 2.0 / 7), 1) << n;
      EXPECT_LE(std::abs(rig.line(1).in_flight - n * 5.0 / 7), 1) << n;
    }
  }
}

TEST(LeastConnections, LCN_01_IdleNodesAreAllChosen) {
  const auto counts = [](const Rig& rig) {
    Player run(rig);
    std::string all = letters(run.picker, rig.input(), *run.cursor, run.rng, 100);
    std::array<double, 5> out{};
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(std::count(all.begin(), all.end(), static_cast<char>('a' + i)));
    return out;
  };
  for (const double one : counts(Rig{1, 1, 1, 1, 1})) EXPECT_NEAR(one, 20, 2);
  const auto heavy = counts(Rig{3, 1, 1, 1, 1});
  EXPECT_NEAR(heavy[0], 43, 3);
  for (std::size_t i = 1; i < heavy.size(); ++i) EXPECT_GE(heavy[i], 12);
}

TEST(LeastConnections, AnIdleUpstreamFollowsTheWeightsSmoothly) {
  const Rig rig{5, 1, 1};
  Player run(rig);
  EXPECT_EQ(letters(run.picker, rig.input(), *run.cursor, run.rng, 14), "aabacaaaabacaa");
}

TEST(LeastConnections, ABigIdleNodeBeatsASmallIdleOneOnceThereIsLoad) {
  const Rig rig{4, 1, 1};
  rig.line(1).in_flight = 1;
  Player run(rig);
  EXPECT_EQ(letters(run.picker, rig.input(), *run.cursor, run.rng, 5), "aaaaa");
}

TEST(LeastConnections, TiesRotateAmongTheTiedOnly) {
  const Rig rig{2, 1, 2, 1};
  for (const std::size_t i : {0U, 2U}) rig.line(i).in_flight = 1;  // (1+1)/2 = (0+1)/1: all tied
  Player run(rig);
  EXPECT_EQ(letters(run.picker, rig.input(), *run.cursor, run.rng, 6), "acbdac");
  rig.line(0).in_flight = 2;
  rig.line(3).in_flight = 1;
  for (const char at : letters(run.picker, rig.input(), *run.cursor, run.rng, 30))
    EXPECT_TRUE(at == 'b' || at == 'c');
}

TEST(LeastConnections, ComparesExactlyWhereDivisionWouldRound) {
  // 3,333,333 / 1,000,000 against 3,333,334 / 1,000,000 + a hair: no double in between is needed.
  const Rig rig{1'000'000, 999'999};
  rig.line(0).in_flight = 4'000'000'000U;
  rig.line(1).in_flight =
      3'999'995'999U;  // (in-flight + 1) × 10^6 is the smaller product by 4 × 10^6 − 1
  Player run(rig);
  EXPECT_EQ(run.place(), 1U);
}

TEST(LeastConnections, IgnoresALoadThatDoesNotCountAsACandidate) {
  Rig rig{1, 1, 1};
  rig.upstream.nodes[2].eligibility = model::Eligibility::kOut;
  rig.line(2).in_flight = 5;  // old work of an ejected node: the rest is idle
  Player run(rig);
  EXPECT_EQ(letters(run.picker, rig.input(), *run.cursor, run.rng, 4), "abab");
}

}  // namespace
}  // namespace steelyard::pick
