#include "steelyard/base/nearest.h"

#include <array>
#include <gtest/gtest.h>

namespace steelyard::base {
namespace {

TEST(EditDistance, CountsInsertDeleteReplaceAndSwap) {
  struct Row {
    std::string_view a, b;
    std::size_t want;
  };
  for (const auto& row :
       {Row{"", "", 0}, Row{"", "abc", 3}, Row{"abc", "abc", 0}, Row{"perod", "period", 1},
        Row{"periood", "period", 1}, Row{"pariod", "period", 1}, Row{"peirod", "period", 1},
        Row{"kitten", "sitting", 3}, Row{"ca", "abc", 3}}) {
    EXPECT_EQ(edit_distance(row.a, row.b), row.want) << row.a << " " << row.b;
    EXPECT_EQ(edit_distance(row.b, row.a), row.want) << row.b << " " << row.a;
  }
}

TEST(Nearest, FindsTheKeyThatWasMeant) {
  constexpr std::array<std::string_view, 5> kKeys{"interval", "timeout", "rise", "fall", "path"};
  struct Row {
    std::string_view name, word, want;
  };
  for (const auto& row :
       {Row{"one letter less", "intervl", "interval"}, Row{"letters swapped", "tiemout", "timeout"},
        Row{"the word itself", "fall", "fall"}, Row{"two wrong of four is too far", "mosh", ""},
        Row{"nothing alike", "listeners", ""}, Row{"empty", "", ""},
        Row{"only its beginning", "inter", "interval"}}) {
    EXPECT_EQ(nearest(row.word, kKeys), row.want) << row.name;
  }
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, TakesTheFirstOfEquallyNearOnes) {
  constexpr std::array<std::string_view, 2> kKeys{"rate", "race"};
  EXPECT_EQ(nearest("rase", kKeys), "rate");
}

}  // namespace
}  // namespace steelyard::base
