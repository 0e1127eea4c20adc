// The reactor's parts: slabs, receive blocks, the write queue, the timer heap, slots, handles.
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/io/buf_queue.h"
#include "steelyard/io/handle_pool.h"
#include "steelyard/io/receive_blocks.h"
#include "steelyard/io/slab.h"
#include "steelyard/io/slot_table.h"
#include "steelyard/io/timer_heap.h"
#include "steelyard/io/uring_buffers.h"

#include "test/io/allocations.h"

namespace steelyard::io {
namespace {

using namespace std::chrono_literals;

TEST(SlabPool, RecyclesStorageOfEachClass) {
  SlabPool pool;
  for (const std::size_t size : {1U, 400U, 1000U, 5000U, 60000U}) {
    (void)std::move(pool.take(size)).take(size);
    const std::uint64_t before = allocations();
    for (int i = 0; i < 100; ++i) {
      Slab slab = pool.take(size);
      EXPECT_GE(slab.capacity(), size);
      std::fill_n(slab.text(), slab.capacity(), 'x');
    }
    EXPECT_EQ(allocations(), before);
  }
  EXPECT_EQ(pool.bytes_out(), 0U);
}

TEST(SlabPool, GivesStorageBeyondTheLargestClass) {
  SlabPool pool;
  Slab slab = pool.take(3'000'000);
  EXPECT_GE(slab.capacity(), 3'000'000U);
  std::fill_n(slab.text(), slab.capacity(), 'x');
  const Buf buf = std::move(slab).take(10);
  EXPECT_EQ(buf.text(), "xxxxxxxxxx");
  EXPECT_GE(pool.bytes_out(), 3'000'000U);
}

TEST(ReceiveBlocks, ReuseABlockThatNobodyPins) {
  SlabPool slabs;
  ReceiveBlocks blocks(256 << 10, 1 << 30, slabs);
  const std::byte* const first = blocks.space(1000).data();
  {
    const Buf buf = blocks.lend(1000);
  }
  EXPECT_EQ(blocks.space(1000).data(), first);
}

TEST(ReceiveBlocks, UseTheTailOfAPinnedBlockThenAnother) {
  SlabPool slabs;
  ReceiveBlocks blocks(256 << 10, 1 << 30, slabs);
  std::vector<Buf> pins;
  std::map<const std::byte*, std::string> want;
  for (int i = 0; i < 100; ++i) {
    const auto space = blocks.space(10000);
    ASSERT_FALSE(space.empty());
    const std::string text(space.size(), static_cast<char>('a' + i % 26));
    std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), space.data());
    pins.push_back(blocks.lend(space.size()));
    want[pins.back().data()] = text;
  }
  for (const Buf& pin : pins) EXPECT_EQ(pin.text(), want[pin.data()]);
  EXPECT_GE(blocks.pinned(), 100U * 9000U);
  pins.clear();
  EXPECT_EQ(blocks.pinned(), 0U);
}

TEST(BufQueue, KeepsOrderAcrossGrowthAndPartialConsumption) {
  BufQueue queue;
  base::Rng rng(5);
  std::string in;
  std::string out;
  for (int round = 0; round < 2000; ++round) {
    if (rng.below(2) == 0) {
      const std::string text(1 + rng.below(9), static_cast<char>('a' + round % 26));
      in += text;
      queue.push(Buf::heap_copy(text));
    } else if (!queue.empty()) {
      std::size_t left = 0;
      std::string all;
      for (std::size_t i = 0; i < queue.size(); ++i) all += queue.at(i).text();
      left = 1 + rng.below(all.size());
      out += all.substr(0, left);
      queue.consume(left);
    }
  }
  for (std::size_t i = 0; i < queue.size(); ++i) out += queue.at(i).text();
  EXPECT_EQ(out, in);
  queue.clear();
  EXPECT_TRUE(queue.empty());
}

// Against a plain model: every timer fires at the first check at or after its last deadline.
TEST(TimerHeap, FiresLikeAListOfDeadlines) {
  TimerHeap heap;
  base::Rng rng(3);
  constexpr std::size_t kTimers = 200;
  std::vector<TimerNode> nodes(kTimers);
  std::map<TimerNode*, base::TimePoint> model;
  base::TimePoint now{};
  for (int step = 0; step < 20000; ++step) {
    TimerNode& node = nodes[rng.below(kTimers)];
    switch (rng.below(5)) {
      case 0:
      case 1: {
        const base::TimePoint when = now + base::Duration(rng.below(1000));
        heap.set(node, when);
        model[&node] = when;
        break;
      }
      case 2:
        heap.cancel(node);
        model.erase(&node);
        break;
      case 3:
        heap.remove(node);
        model.erase(&node);
        break;
      default: {
        now += base::Duration(rng.below(50));
        base::TimePoint last{};
        while (TimerNode* const fired = heap.pop_due(now)) {
          ASSERT_TRUE(model.contains(fired));
          EXPECT_LE(model[fired], now);
          EXPECT_GE(model[fired], last);
          last = model[fired];
          model.erase(fired);
        }
        for (const auto& [waiting, when] : model) EXPECT_GT(when, now);
        for (const auto& [waiting, when] : model) EXPECT_LE(heap.next(), when);
      }
    }
  }
}

TEST(SlotTable, ALateNameDoesNotReachTheNextOwner) {
  struct Slot {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;
  };
  SlotTable<Slot> table;
  Slot& slot = table.take();
  const auto index = slot.index;
  const auto generation = slot.generation;
  EXPECT_EQ(table.find(index, generation), &slot);
  table.give(slot);
  EXPECT_EQ(table.find(index, generation), nullptr);
  Slot& next = table.take();
  EXPECT_EQ(&next, &slot);
  EXPECT_EQ(table.find(index, generation), nullptr);
  EXPECT_EQ(table.find(1000000, 1), nullptr);
  table.give(next);
}

TEST(HandlePool, AFreedHandleIsPoisoned) {
#if defined(__SANITIZE_ADDRESS__)
  HandlePool pool;
  auto* const at = static_cast<char*>(pool.take(16));
  *at = 'x';
  HandlePool::give(at);
  EXPECT_DEATH((void)*static_cast<volatile char*>(at), "use-after-poison");
#else
  HandlePool pool;
  void* const at = pool.take(16);
  HandlePool::give(at);
  EXPECT_EQ(pool.take(16), at);
  HandlePool::give(at);
#endif
  EXPECT_EQ(pool.in_use(), 0U);
}

// KiB that this process keeps out of core files.
long undumped_kib() {
  std::ifstream maps("/proc/self/smaps");
  long size = 0, sum = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with("Size:")) size = std::atol(line.c_str() + 5);
    if (line.starts_with("VmFlags:") && line.find(" dd") != line.npos) sum += size;
  }
  return sum;
}

TEST(UringBuffers, StayOutOfCoreFiles) {
  SlabPool slabs;
  const long before = undumped_kib();
  const UringBuffers buffers(128, 32'768, slabs);
  EXPECT_EQ(undumped_kib() - before, 4096 + 4) << "the buffers and the ring";
}

}  // namespace
}  // namespace steelyard::io
