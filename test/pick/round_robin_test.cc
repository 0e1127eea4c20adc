#include "steelyard/pick/round_robin.h"

#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

struct Player {
  explicit Player(const Rig& rig_) : rig(rig_), cursor(RoundRobin::cursor_at(0)) {}
  std::string operator()(const model::TableUpstream& table, int picks) {
    const RoundRobin picker(table);
    picker.adopt(*cursor);
    std::string out;
    for (int i = 0; i < picks; ++i)
      out += table.nodes[*picker.pick(rig.input(), *cursor, rng)].name;
    return out;
  }
  const Rig& rig;
  std::unique_ptr<Cursor> cursor;
  base::Rng rng{1};
};

TEST(RoundRobin, TakesEachInTurnWhateverItsWeight) {
  const Rig rig{5, 1, 0, 300};
  Player run(rig);
  EXPECT_EQ(run(rig.upstream, 7), "abdabda");
}

TEST(RoundRobin, GoesOnAfterTheNodePickedLast) {
  const Rig rig{1, 1, 1, 1};
  Player run(rig);
  EXPECT_EQ(run(rig.upstream, 2), "ab");
  EXPECT_EQ(run(rig.ordered({3, 2, 1, 0}), 3), "cda");   // another order
  EXPECT_EQ(run(rig.ordered({0, 2, 3}), 2), "cd");       // the next one is gone
  EXPECT_EQ(run(rig.ordered({0, 1, 2}), 2), "ab");       // the last one is gone
  EXPECT_EQ(run(rig.ordered({0, 1, 2, 3}), 4), "cdab");  // one is back
}

TEST(RoundRobin, ANodeThatCannotBeTakenLosesItsTurn) {
  const Rig rig{1, 1, 1};
  rig.line(1).max_in_flight = 1;
  rig.line(1).in_flight = 1;
  Player run(rig);
  EXPECT_EQ(run(rig.upstream, 4), "acac");
  rig.line(1).in_flight = 0;
  EXPECT_EQ(run(rig.upstream, 3), "abc");
}

TEST(RoundRobin, FreshCursorsBeginAnywhere) {
  const Rig rig{1, 1, 1, 1};
  const RoundRobin picker(rig.upstream);
  base::Rng rng(2);
  std::vector<int> hits(4, 0);
  for (int i = 0; i < 4000; ++i) ++hits[*picker.pick(rig.input(), *picker.make_cursor(rng), rng)];
  for (const int hit : hits) EXPECT_NEAR(hit, 1000, 140);
}

}  // namespace
}  // namespace steelyard::pick
