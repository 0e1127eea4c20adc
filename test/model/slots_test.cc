#include "steelyard/model/slots.h"

#include <atomic>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

#include "steelyard/base/rng.h"

namespace steelyard::model {
namespace {

TEST(Slots, GiveEachNodeItsOwnUntilAllAreInUse) {
  Slots slots(3, 1);
  std::set<NodeRef> seen;
  for (int i = 0; i < 3; ++i) {
    const auto ref = slots.claim();
    ASSERT_TRUE(ref);
    EXPECT_TRUE(slots.current(*ref));
    seen.insert(*ref);
  }
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_EQ(slots.claim(), std::nullopt);
}

TEST(Slots, AReusedSlotHasANewGenerationAndTheOldNameFails) {
  Slots slots(1, 1);
  NodeRef last = *slots.claim();
  for (int i = 0; i < 100; ++i) {
    slots.release(last);
    EXPECT_FALSE(slots.current(last));  // already now, before anybody has the slot again
    const NodeRef next = *slots.claim();
    EXPECT_EQ(next.slot, last.slot);
    EXPECT_NE(next, last);
    EXPECT_FALSE(slots.current(last));
    EXPECT_TRUE(slots.current(next));
    last = next;
  }
}

TEST(Slots, ANewOwnerHasNoLimitAndTheLinesStayWhereTheyAre) {
  Slots slots(2, 1);
  const NodeRef a = *slots.claim();
  NodeLine* const line = &slots.line(a);
  line->max_in_flight = 1;
  const NodeRef b = *slots.claim();
  EXPECT_EQ(&slots.line(a), line);
  slots.release(a);
  const NodeRef c = *slots.claim();
  EXPECT_EQ(&slots.line(c), line);
  EXPECT_EQ(slots.line(c).max_in_flight, 0U);
  EXPECT_EQ(slots.in_flight(c), 0U);
  EXPECT_NE(&slots.line(b), line);
}

TEST(Slots, CountersOutliveTheirOwnerAndAreOneBlockAWorker) {
  Slots slots(1, 2);
  const NodeRef a = *slots.claim();
  slots.cells(a, 0).attempts.add(3);
  slots.cells(a, 1).attempts.add(4);
  slots.release(a);
  const NodeRef b = *slots.claim();
  EXPECT_EQ(slots.cells(b, 0).attempts.read(), 3U);  // never reset: readers keep a baseline
  EXPECT_EQ(slots.cells(b, 1).attempts.read(), 4U);
  const auto apart = reinterpret_cast<std::uintptr_t>(&slots.cells(b, 1)) -
                     reinterpret_cast<std::uintptr_t>(&slots.cells(b, 0));
  EXPECT_EQ(apart % base::kCacheLine, 0U);
}

TEST(Slots, ADefaultOrForeignNameIsNotCurrent) {
  Slots slots(4, 1);
  EXPECT_FALSE(slots.current(NodeRef{}));
  EXPECT_FALSE(slots.current(NodeRef{2, 1}));   // never claimed
  EXPECT_FALSE(slots.current(NodeRef{99, 1}));  // beyond the end
}

TEST(InFlight, GivesBackHoweverItEnds) {
  NodeLine line;
  {
    auto a = InFlight::acquire(line);
    ASSERT_TRUE(a);
    auto b = InFlight::acquire(line);
    EXPECT_EQ(line.in_flight, 2U);
    *a = std::move(*b);  // the first is given back, the second has moved
    EXPECT_EQ(line.in_flight, 1U);
    EXPECT_FALSE(b->held());
    const InFlight c(std::move(*a));
    EXPECT_TRUE(c.held());
    EXPECT_EQ(line.in_flight, 1U);
  }
  EXPECT_EQ(line.in_flight, 0U);
  auto early = *InFlight::acquire(line);
  early.give_back();
  early.give_back();
  EXPECT_EQ(line.in_flight, 0U);
}

TEST(InFlight, IsRefusedAtTheLimitAndTakesNothingThen) {
  NodeLine line;
  line.max_in_flight = 2;
  const auto a = InFlight::acquire(line);
  auto b = InFlight::acquire(line);
  EXPECT_FALSE(InFlight::acquire(line));
  EXPECT_EQ(line.in_flight, 2U);
  b.reset();
  EXPECT_TRUE(InFlight::acquire(line));
}

TEST(InFlight, HoldsTheLimitUnderManyThreadsAndLosesNoCount) {
  NodeLine line;
  line.max_in_flight = 3;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const auto token = InFlight::acquire(line);
        if (!token) continue;
        const int now = inside.fetch_add(1) + 1;
        int seen = most.load();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        got.fetch_add(1);
        inside.fetch_sub(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(most, 3);
  EXPECT_GT(got, 0);
  EXPECT_EQ(line.in_flight, 0U);
}

TEST(InFlight, OnTrialExactlyOneOfManyThreadsGetsIn) {
  for (int round = 0; round < 200; ++round) {
    NodeLine line;
    line.max_in_flight = 1;
    std::vector<std::optional<InFlight>> tokens(4);
    std::vector<std::thread> threads;
    for (auto& token : tokens) threads.emplace_back([&] { token = InFlight::acquire(line); });
    for (auto& thread : threads) thread.join();
    int in = 0;
    for (const auto& token : tokens) in += token.has_value();
    ASSERT_EQ(in, 1);  // all hold what they got until here
    tokens.clear();
    ASSERT_EQ(line.in_flight, 0U);
  }
}

// Control claims and frees while workers count in the slots they were told of and ask for names
// that are gone.
TEST(Slots, WorkersCountWhileControlReusesOthers) {
  Slots slots(8, 2);
  const NodeRef shared = *slots.claim();
  const NodeRef spare = *slots.claim();
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (std::uint32_t w = 0; w < 2; ++w) {
    workers.emplace_back([&, w] {
      for (int i = 0; i < 20'000; ++i) {
        const auto token = InFlight::acquire(slots.line(shared));
        slots.cells(shared, w).attempts.add(1);
        (void)slots.current(spare);
      }
    });
  }
  std::thread control([&] {
    NodeRef mine = spare;
    do {  // at least once, however late this thread gets its turn
      slots.release(mine);
      mine = *slots.claim();
    } while (!stop);
  });
  for (auto& worker : workers) worker.join();
  stop = true;
  control.join();
  EXPECT_EQ(slots.in_flight(shared), 0U);
  EXPECT_EQ(slots.cells(shared, 0).attempts.read() + slots.cells(shared, 1).attempts.read(),
            40'000U);
  EXPECT_FALSE(slots.current(spare));
}

}  // namespace
}  // namespace steelyard::model
