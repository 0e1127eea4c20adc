// Records through a ring: in order, whole, dropped when there is no room.

#include "steelyard/base/byte_ring.h"

#include <deque>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "steelyard/base/rng.h"

namespace steelyard::base {
namespace {

bool put(ByteRing& ring, std::string_view text) {
  const auto room = ring.reserve(text.size());
  if (room.empty() && !text.empty()) return false;
  std::memcpy(room.data(), text.data(), text.size());
  ring.commit(text.size());
  return true;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ByteRing, GivesWhatWasPutInOrder) {
  ByteRing ring(1024);
  Rng rng(3);
  std::deque<std::string> inside;
  std::size_t dropped = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (rng() % 3 != 0) {
      std::string text(1 + rng() % 200, static_cast<char>('a' + i % 26));
      if (put(ring, text)) {
        inside.push_back(std::move(text));
      } else {
        ++dropped;
      }
    } else {
      ring.drain([&](auto bytes) {
        ASSERT_FALSE(inside.empty());
        EXPECT_EQ(text_of(bytes), inside.front());
        inside.pop_front();
      });
      EXPECT_TRUE(inside.empty());
    }
  }
  EXPECT_GT(dropped, 0U);
}

TEST(ByteRing, ARecordLargerThanTheRingFindsNoRoom) {
  ByteRing ring(1024);
  EXPECT_TRUE(ring.reserve(2000).empty());
  EXPECT_TRUE(put(ring, std::string(1016, 'x')));
  EXPECT_FALSE(put(ring, "y"));
  EXPECT_EQ(ring.drain([](auto) {}), 1U);
  EXPECT_TRUE(put(ring, "y"));
}

TEST(ByteRing, LosesNothingBetweenTwoThreads) {
  ByteRing ring(4096);
  constexpr std::uint64_t kCount = 200'000;
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kCount;) {
      std::string text = std::to_string(i) + std::string(i % 50, '.');
      if (put(ring, text)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t next = 0;
  while (next < kCount) {
    const auto got = ring.drain([&](auto bytes) {
      ASSERT_EQ(text_of(bytes), std::to_string(next) + std::string(next % 50, '.'));
      ++next;
    });
    if (got == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(next, kCount);
}

}  // namespace
}  // namespace steelyard::base
