#include "steelyard/model/table.h"

#include <gtest/gtest.h>

namespace steelyard::model {
namespace {

TableUpstream upstream(std::initializer_list<std::pair<double, Eligibility>> nodes) {
  TableUpstream out{.name = "u", .nodes = {}, .panic = false};
  for (const auto& [weight, eligibility] : nodes) {
    TableNode node;
    node.name = "n" + std::to_string(out.nodes.size());
    node.weight = weight;
    node.eligibility = eligibility;
    out.nodes.push_back(node);
  }
  return out;
}

TEST(TableUpstream, AShareIsAmongThoseThatMayBePicked) {
  auto u = upstream({{3, Eligibility::kUsable},
                     {1, Eligibility::kTrial},
                     {4, Eligibility::kOut},
                     {8, Eligibility::kDraining}});
  EXPECT_DOUBLE_EQ(u.share(0), 0.75);
  EXPECT_DOUBLE_EQ(u.share(1), 0.25);
  EXPECT_DOUBLE_EQ(u.share(2), 0);
  EXPECT_DOUBLE_EQ(u.share(3), 0);
  u.panic = true;  // health is distrusted, a drain is not
  EXPECT_DOUBLE_EQ(u.share(0), 0.375);
  EXPECT_DOUBLE_EQ(u.share(2), 0.5);
  EXPECT_DOUBLE_EQ(u.share(3), 0);
}

TEST(TableUpstream, SharesAreZeroWhenNobodyCanBePicked) {
  const auto u = upstream({{0, Eligibility::kUsable}, {2, Eligibility::kOut}});
  EXPECT_DOUBLE_EQ(u.share(0), 0);
  EXPECT_DOUBLE_EQ(u.share(1), 0);
}

TEST(Table, FindsByNameWhateverThePlace) {
  Table table;
  table.upstreams.push_back(upstream({{1, Eligibility::kUsable}, {1, Eligibility::kUsable}}));
  ASSERT_NE(table.find("u"), nullptr);
  EXPECT_EQ(table.find("v"), nullptr);
  EXPECT_EQ(table.find("u")->find("n1"), &table.upstreams[0].nodes[1]);
  EXPECT_EQ(table.find("u")->find("n2"), nullptr);
}

}  // namespace
}  // namespace steelyard::model
