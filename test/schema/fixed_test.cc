#include "steelyard/schema/fixed.h"

#include <gtest/gtest.h>

#include "steelyard/schema/describe.h"

#include "test/schema/sample_options.h"

namespace steelyard::schema {
namespace {

TEST(Fixed, ThoseMarkedAreNamedAndToldWhenTheyDiffer) {
  const auto type = describe<sample::All>();
  EXPECT_EQ(fixed_fields(type), std::vector<std::string>{"wait"});
  sample::All before, after;
  EXPECT_TRUE(fixed_changes(type, &before, &after).empty());
  after.text = "xyz";
  EXPECT_TRUE(fixed_changes(type, &before, &after).empty());
  after.wait += std::chrono::nanoseconds(1);
  EXPECT_EQ(fixed_changes(type, &before, &after), std::vector<std::string>{"wait"});
}

}  // namespace
}  // namespace steelyard::schema
