#include "steelyard/base/time.h"

#include <gtest/gtest.h>

namespace steelyard::base {
namespace {

TEST(Time, SecondsAndBack) {
  EXPECT_DOUBLE_EQ(seconds(std::chrono::milliseconds(1500)), 1.5);
  EXPECT_EQ(from_seconds(0.25), Duration(std::chrono::milliseconds(250)));
  EXPECT_EQ(from_seconds(-2), Duration(std::chrono::seconds(-2)));
  EXPECT_EQ(from_seconds(100 * 1e-6), Duration(100'000));  // to the nearest, not down to 99,999
}

}  // namespace
}  // namespace steelyard::base
