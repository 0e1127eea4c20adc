#include "steelyard/model/eligibility.h"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace steelyard::model {
namespace {

TEST(Eligibility, WhoIsInRotation) {
  struct Row {
    Eligibility eligibility;
    bool normally, in_panic;
  };
  for (const auto& row :
       {Row{Eligibility::kUsable, true, true}, Row{Eligibility::kTrial, true, true},
        Row{Eligibility::kOut, false, true}, Row{Eligibility::kDraining, false, false}}) {
    EXPECT_EQ(in_rotation(row.eligibility, false), row.normally) << to_text(row.eligibility);
    EXPECT_EQ(in_rotation(row.eligibility, true), row.in_panic) << to_text(row.eligibility);
  }
}

TEST(Eligibility, EachHasItsOwnWord) {
  std::set<std::string_view> words;
  for (const auto e :
       {Eligibility::kUsable, Eligibility::kTrial, Eligibility::kOut, Eligibility::kDraining}) {
    words.insert(to_text(e));
  }
  EXPECT_EQ(words.size(), 4U);
}

TEST(Pickable, NotTriedAndBelowItsLimit) {
  Slots slots(4, 1);
  const NodeRef a = *slots.claim();
  const NodeRef b = *slots.claim();
  const NodeRef older{a.slot, a.generation - 1};
  struct Row {
    std::string_view name;
    std::uint32_t in_flight, max;
    std::vector<NodeRef> tried;
    bool want;
  };
  for (const auto& row :
       {Row{"idle", 0, 0, {}, true}, Row{"no limit", 1'000'000, 0, {}, true},
        Row{"below the limit", 1, 2, {}, true}, Row{"at the limit", 2, 2, {}, false},
        Row{"above a limit that was lowered", 5, 2, {}, false},
        Row{"on trial and free", 0, 1, {}, true}, Row{"on trial and taken", 1, 1, {}, false},
        Row{"another was tried", 0, 0, {b}, true}, Row{"tried", 0, 0, {b, a}, false},
        Row{"an earlier owner of the slot was tried", 0, 0, {older}, true}}) {
    slots.line(a).in_flight = row.in_flight;
    slots.line(a).max_in_flight = row.max;
    EXPECT_EQ(pickable(a, row.tried, slots), row.want) << row.name;
  }
}

}  // namespace
}  // namespace steelyard::model
