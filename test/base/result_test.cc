#include "steelyard/base/result.h"

#include <gtest/gtest.h>
#include <memory>

namespace steelyard::base {
namespace {

Result<int> half(int of) {
  if (of % 2 != 0)
    return Error{
        .code = Code::kInvalid, .origin = Origin::kClient, .retry_safe = true, .text = "odd"};
  return of / 2;
}

TEST(Result, IsAValueOrAnError) {
  const auto good = half(4);
  ASSERT_TRUE(good);
  EXPECT_TRUE(good.has_value());
  EXPECT_EQ(*good, 2);
  EXPECT_EQ(good.value_or(9), 2);
  const auto bad = half(3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kInvalid);
  EXPECT_EQ(bad.error().origin, Origin::kClient);
  EXPECT_TRUE(bad.error().retry_safe);
  EXPECT_EQ(bad.value_or(9), 9);
}

TEST(Result, MovesAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
  EXPECT_EQ(**result, 5);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(Result, OfNothingIsGoodUntilItHoldsAnError) {
  const Result<void> good;
  EXPECT_TRUE(good);
  const Result<void> bad(Error{.code = Code::kTimeout});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kTimeout);
}

TEST(Error, DescribesItselfByItsTextElseByItsCode) {
  EXPECT_EQ(Error{.text = "no route to 10.0.0.1"}.describe(), "no route to 10.0.0.1");
  EXPECT_EQ(Error{.code = Code::kRefused}.describe(), "connection refused");
}

TEST(Error, EveryCodeAndOriginHasItsOwnWords) {
  for (int a = 0; a <= static_cast<int>(Code::kCancelled); ++a) {
    EXPECT_FALSE(to_text(static_cast<Code>(a)).empty());
    for (int b = 0; b < a; ++b)
      EXPECT_NE(to_text(static_cast<Code>(a)), to_text(static_cast<Code>(b)));
  }
  for (int a = 0; a <= static_cast<int>(Origin::kOperator); ++a) {
    EXPECT_FALSE(to_text(static_cast<Origin>(a)).empty());
    for (int b = 0; b < a; ++b)
      EXPECT_NE(to_text(static_cast<Origin>(a)), to_text(static_cast<Origin>(b)));
  }
}

}  // namespace
}  // namespace steelyard::base
