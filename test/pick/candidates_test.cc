#include "steelyard/pick/candidates.h"

#include <gtest/gtest.h>
#include <limits>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

TEST(Candidates, AreThoseInRotationWithAWeight) {
  Rig rig{2, 0, 3, 4, 5, std::numeric_limits<double>::quiet_NaN(), -1};
  rig.upstream.nodes[2].eligibility = model::Eligibility::kOut;
  rig.upstream.nodes[3].eligibility = model::Eligibility::kTrial;
  rig.upstream.nodes[4].eligibility = model::Eligibility::kDraining;
  EXPECT_EQ(Candidates::of(rig.upstream).index, (std::vector<Index>{0, 3}));
  rig.upstream.panic = true;
  EXPECT_EQ(Candidates::of(rig.upstream).index, (std::vector<Index>{0, 2, 3}));
}

TEST(Candidates, WholeWeightsKeepTheirExactProportions) {
  const Rig rig{1'000'000, 999'983, 7, 1};
  const auto c = Candidates::of(rig.upstream);
  const auto unit = c.weight[3];
  EXPECT_EQ(c.weight,
            (std::vector<std::int64_t>{1'000'000 * unit, 999'983 * unit, 7 * unit, unit}));
  EXPECT_EQ(c.total, 1'999'991 * unit);
}

TEST(Candidates, TheSumIsBelowTwoToThe46AndNoWeightBecomesZero) {
  struct Row {
    std::string_view name;
    std::vector<double> weights;
  };
  const std::vector<Row> rows{{"one", {1}},
                              {"smallest", {5e-324, 5e-324}},
                              {"far apart", {1e300, 1e-300}},
                              {"beyond what a sum can hold", {1e308, 1e308, 1}},
                              {"10,000 millions", std::vector<double>(10'000, 1e6)}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto c = Candidates::of(Rig(row.weights).upstream);
    ASSERT_EQ(c.size(), row.weights.size());
    for (const auto weight : c.weight) EXPECT_GE(weight, 1);
    EXPECT_LE(c.total, std::int64_t{1} << 46);
  }
}

}  // namespace
}  // namespace steelyard::pick
