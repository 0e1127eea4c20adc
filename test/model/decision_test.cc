#include "steelyard/model/decision.h"

#include <gtest/gtest.h>

namespace steelyard::model {
namespace {

TEST(Change, EachHasItsOwnWord) {
  for (int a = 0; a <= static_cast<int>(Change::kPanic); ++a) {
    EXPECT_FALSE(to_text(static_cast<Change>(a)).empty());
    EXPECT_NE(to_text(static_cast<Change>(a)), "unknown");
    for (int b = 0; b < a; ++b)
      EXPECT_NE(to_text(static_cast<Change>(a)), to_text(static_cast<Change>(b)));
  }
}

TEST(Signal, ItsAgeIsThatOfItsNewestSample) {
  const base::TimePoint at{std::chrono::seconds(100)};
  const Signal<double> signal{.value = 0.5, .at = at, .samples = 1};
  EXPECT_EQ(signal.age(at + std::chrono::seconds(7)), base::Duration(std::chrono::seconds(7)));
}

}  // namespace
}  // namespace steelyard::model
