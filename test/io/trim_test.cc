// What the reactor's parts give up when a crowd is gone, and that nothing is lost by it.
#include <deque>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/io/receive_blocks.h"
#include "steelyard/io/slab.h"
#include "steelyard/io/slot_table.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/timer_heap.h"
#include "steelyard/io/timer_set.h"

#include "test/io/allocations.h"
#include "test/io/streams.h"

namespace steelyard::io {
namespace {

// The most that a crowd is remembered for.
constexpr unsigned kMinute = base::Surplus::kLooks * (base::Surplus::kParts + 1);

// All bytes that go in a minute, and then in steps between two looks.
template <typename Pool>
std::size_t trim_for_a_minute(Pool& pool) {
  std::size_t sum = 0;
  for (unsigned second = 0; second < kMinute; ++second) sum += pool.trim(true);
  while (const std::size_t more = pool.trim(false)) sum += more;
  return sum;
}

struct Slot {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
};

TEST(SlotTable, ChunksOfACrowdGoAndNamesInThemFindNothingEver) {
  SlotTable<Slot> table;
  std::vector<Slot*> crowd;
  std::vector<Slot> names;
  names.reserve(1000);
  for (int i = 0; i < 1000; ++i) names.push_back(*crowd.emplace_back(&table.take()));
  Slot* const stays = crowd[500];
  for (Slot* const slot : crowd) {
    if (slot != stays) table.give(*slot);
  }
  EXPECT_EQ(table.size(), 1024U);
  EXPECT_EQ(trim_for_a_minute(table), sizeof(Slot) * (1024 - 2 * 64));
  EXPECT_EQ(table.find(names[500].index, names[500].generation), stays);
  EXPECT_EQ(table.peek(names[999].index), nullptr);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i == 500) continue;
      ASSERT_EQ(table.find(names[i].index, names[i].generation), nullptr) << i;
    }
    while (table.in_use() < 1000) (void)table.take();
  }
  EXPECT_EQ(table.size(), 1024U) << "gaps are filled first";
}

TEST(SlotTable, TheLowestFreeOneIsNext) {
  SlotTable<Slot> table;
  std::vector<Slot*> all;
  all.reserve(300);
  for (int i = 0; i < 300; ++i) all.push_back(&table.take());
  for (const std::size_t i : {250U, 3U, 130U}) table.give(*all[i]);
  for (const std::uint32_t i : {3U, 130U, 250U, 300U}) EXPECT_EQ(table.take().index, i);
}

TEST(SlotTable, NoNameIsUsedTwiceWhateverComesAndGoes) {
  base::Rng rng(5);
  SlotTable<Slot> table;
  std::vector<Slot*> out;
  std::set<std::pair<std::uint32_t, std::uint32_t>> names;
  for (int step = 0; step < 400; ++step) {
    const auto want = rng.below(step % 100 < 10 ? 6000 : 100);
    while (out.size() < want) {
      out.push_back(&table.take());
      ASSERT_TRUE(names.emplace(out.back()->index, out.back()->generation).second);
    }
    while (out.size() > want) {
      std::swap(out[rng.below(out.size())], out.back());
      table.give(*out.back());
      out.pop_back();
    }
    for (int i = 0; i < 10; ++i) (void)table.trim(i % 2 == 0);
    ASSERT_EQ(table.in_use(), out.size());
    for (Slot* const slot : out) ASSERT_EQ(table.find(slot->index, slot->generation), slot);
  }
  EXPECT_LT(table.size(), 6000U);
}

TEST(SlabPool, GivesUpWhatNoLoadOfTheLastMinuteNeeded) {
  SlabPool pool;
  const auto hold = [&](std::size_t many) {
    std::vector<Buf> held;
    while (held.size() < many) held.push_back(pool.take(400).take(400));
  };
  hold(1000);
  EXPECT_GT(trim_for_a_minute(pool), 480'000U);
  EXPECT_EQ(pool.trim(false), 0U);
  hold(50);
  const std::uint64_t before = allocations();
  std::vector<Buf> held;
  held.reserve(50);
  const std::uint64_t own = allocations() - before;
  while (held.size() < 50) held.push_back(pool.take(400).take(400));
  EXPECT_EQ(allocations() - before - own, 0U) << "what came since is kept";
}

TEST(ReceiveBlocks, GiveUpWhatNoLoadOfTheLastMinuteNeeded) {
  SlabPool slabs;
  ReceiveBlocks blocks(256 << 10, 1 << 30, slabs);
  std::vector<Buf> pins;
  while (pins.size() < 8) {
    ASSERT_EQ(blocks.space(256 << 10).size(), 256U << 10);
    pins.push_back(blocks.lend(256 << 10));
  }
  pins.clear();
  EXPECT_EQ(trim_for_a_minute(blocks), 7U * (256 << 10));
  EXPECT_EQ(blocks.space(1000).size(), 1000U);
}

TEST(TimerHeap, GivesUpRoomAndForgetsNoTimer) {
  TimerHeap heap;
  std::vector<TimerNode> nodes(50'000);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    heap.set(nodes[i], TimePoint(Duration(nodes.size() - i)));
  for (std::size_t i = 100; i < nodes.size(); ++i) heap.remove(nodes[i]);
  EXPECT_GT(trim_for_a_minute(heap), 700'000U);
  for (std::size_t i = 100; i-- > 0;) {
    EXPECT_EQ(heap.pop_due(TimePoint::max() - Duration(1)), &nodes[i]);
  }
  EXPECT_EQ(heap.size(), 0U);
}

TEST(TimerSet, TimersOfACrowdGoAndTheOthersFire) {
  struct Count final : TimerEvents {
    void on_time() noexcept override { ++fired; }
    int fired = 0;
  } count;
  TimerSet timers;
  std::vector<std::unique_ptr<Timer>> crowd;
  for (int i = 0; i < 1000; ++i) {
    crowd.push_back(timers.make(count));
    crowd.back()->at(TimePoint(1h));
  }
  crowd.erase(crowd.begin(), crowd.end() - 3);
  EXPECT_GT(trim_for_a_minute(timers), 50'000U);
  timers.run(TimePoint(2h), [](auto, auto, auto) {}, [] {});
  EXPECT_EQ(count.fired, 3);
}

class KernelReactorTrim : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Reactor> reactor = of(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Backends, KernelReactorTrim, testing::ValuesIn(usable_backends()),
                         [](const auto& row) { return std::string(to_text(row.param)); });

TEST_P(KernelReactorTrim, TellsWhenATurnWokeUp) {
  for (int i = 0; i < 3; ++i) {
    const TimePoint before = steady_now();
    reactor->run_turn(before + 2ms);
    EXPECT_GE(reactor->woke(), before);
    EXPECT_LE(reactor->woke(), steady_now());
  }
}

TEST_P(KernelReactorTrim, CrowdsComeAndGoAndAWarmReactorStaysWarm) {
  const Fd socket = std::move(*listen_tcp(Address::loopback(0)));
  const Address at = *local_address(socket);
  std::deque<Echo> servers;
  Accept accept;
  accept.then = [&](Fd fd) {
    Echo& server = servers.emplace_back();
    server.stream = reactor->adopt(std::move(fd), server);
  };
  const auto listener = reactor->listen(socket, accept);
  listener->grant(100'000);
  const auto crowd = [&](std::size_t many) {
    std::deque<Client> clients;
    while (clients.size() < many) {
      Client& client = clients.emplace_back(*reactor);
      client.stream = reactor->connect(at, {.timeout = 20s}, client);
    }
    EXPECT_TRUE(turn_until(*reactor, [&] {
      return std::all_of(clients.begin(), clients.end(),
                         [](const Client& client) { return client.answers > 0; });
    }));
    clients.clear();
    servers.clear();
    for (int i = 0; i < 10; ++i) reactor->run_turn(steady_now() + 1ms);
  };
  for (int round = 0; round < 3; ++round) {
    crowd(200);
    EXPECT_GT(trim_for_a_minute(*reactor), 50'000U);
  }
  crowd(1);
  Client client{*reactor};
  client.stream = reactor->connect(at, {}, client);
  ASSERT_TRUE(turn_until(*reactor, [&] { return client.answers > 100; }));
  (void)trim_for_a_minute(*reactor);
  const int answers = client.answers;
  const std::uint64_t before = allocations();
  while (client.answers < answers + 500) {
    reactor->run_turn(steady_now() + 5ms);
    (void)reactor->trim(true);
  }
  // In the first minute of it what is kept aside for it is found out.
  const std::uint64_t found_out = allocations();
  EXPECT_LE(found_out - before, 10U);
  while (client.answers < answers + 2000) {
    reactor->run_turn(steady_now() + 5ms);
    (void)reactor->trim(true);
  }
  EXPECT_EQ(allocations(), found_out);
  client.stream.reset();
  servers.clear();
}

}  // namespace
}  // namespace steelyard::io
