// What the rigs read of a process's memory.
#include "test/rigs/lib/process.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace steelyard::rigs {
namespace {

TEST(Usage, TellsBuffersApartFromWhatElseWasWritten) {
  constexpr std::size_t kBytes = 32U << 20;
  const auto map = [] {
    return ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  const auto start = usage_of(::getpid());
  void* const plain = map();
  void* const buffers = map();
  ASSERT_EQ(::madvise(buffers, kBytes, MADV_DONTDUMP), 0);
  std::memset(plain, 1, kBytes / 4);
  std::memset(buffers, 1, kBytes / 2);
  const auto used = usage_of(::getpid());
  // A sanitizer keeps its shadow out of core files, too, and writes to it at any time.
  constexpr double kOthers = 2048;
  EXPECT_NEAR(static_cast<double>(used.buffers_kib - start.buffers_kib), 16'384, kOthers);
  EXPECT_EQ(used.buffers_most_kib - start.buffers_most_kib, 32'768);
  EXPECT_GE(used.private_kib - start.private_kib, 24'576);
  EXPECT_GE(used.rss_kib - start.rss_kib, 24'576);
  ASSERT_EQ(::madvise(buffers, kBytes, MADV_DONTNEED), 0);
  EXPECT_NEAR(static_cast<double>(usage_of(::getpid()).buffers_kib - start.buffers_kib), 0,
              kOthers);
  ::munmap(plain, kBytes);
  ::munmap(buffers, kBytes);
}

}  // namespace
}  // namespace steelyard::rigs
