#include "steelyard/model/node_ref.h"

#include <gtest/gtest.h>

namespace steelyard::model {
namespace {

TEST(NodeRef, ADefaultOneMatchesNoNode) {
  EXPECT_FALSE(NodeRef{}.valid());
  EXPECT_TRUE((NodeRef{0, 1}.valid()));
  EXPECT_NE(NodeRef{}, (NodeRef{0, 1}));
  EXPECT_NE((NodeRef{0, 1}), (NodeRef{0, 3}));
}

}  // namespace
}  // namespace steelyard::model
