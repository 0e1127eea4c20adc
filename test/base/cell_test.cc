#include "steelyard/base/cell.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <thread>

namespace steelyard::base {
namespace {

TEST(Cell, IsZeroAtFirstAndHoldsWhatWasSetAndAdded) {
  Cell<std::uint32_t> cell;
  EXPECT_EQ(cell.read(), 0U);
  cell.set(7);
  cell.add(3);
  EXPECT_EQ(cell.read(), 10U);
  EXPECT_DOUBLE_EQ(Cell<double>(1.5).read(), 1.5);
}

TEST(Cell, AReaderSeesOnlyWrittenValuesAndNeverGoesBack) {
  Cell<std::uint64_t> cell;
  constexpr std::uint64_t kStep =
      0x0000000100000001;  // both halves move together: a torn read would show
  constexpr std::uint64_t kSteps = 200'000;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kSteps; ++i) cell.add(kStep);
  });
  std::uint64_t last = 0;
  while (last != kSteps * kStep) {
    const auto now = cell.read();
    ASSERT_EQ(now >> 32, now & 0xffffffff);
    ASSERT_GE(now, last);
    last = now;
  }
  writer.join();
}

}  // namespace
}  // namespace steelyard::base
