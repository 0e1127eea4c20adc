#include "steelyard/schema/faults.h"

#include <gtest/gtest.h>

namespace steelyard::schema {
namespace {

TEST(Faults, OfWhatIsToldAlreadyAreLeftOutAndOfItsSiblingsKept) {
  Faults faults;
  faults.told = {"keys[1].name", "path", "headers.A"};
  for (const auto* key : {"keys", "keys[1]", "keys[1].name", "path", "path.front", "headers"}) {
    EXPECT_FALSE(faults.good(key)) << key;
    faults.error(key, "is bad");
    faults.warn(key, "is odd");
  }
  EXPECT_TRUE(faults.list.empty());
  for (const auto* key :
       {"keys[0]", "keys[1].sha256", "keys[10].name", "path_exact", "headers.a"}) {
    EXPECT_TRUE(faults.good(key)) << key;
    faults.error(key, "is bad");
  }
  faults.warn("", "is odd as a whole");
  EXPECT_EQ(faults.list.size(), 6U);
  EXPECT_TRUE(faults.list.back().warning);
}

}  // namespace
}  // namespace steelyard::schema
