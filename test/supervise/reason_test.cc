#include "steelyard/supervise/reason.h"

#include <gtest/gtest.h>

namespace steelyard::supervise {
namespace {

TEST(Reason, ControlBytesAreEscapedAndTheEndOfTheLineGoes) {
  EXPECT_EQ(shortened("s.yaml:6:1: unknown key \"a\"\n"), "s.yaml:6:1: unknown key \"a\"");
  EXPECT_EQ(shortened("a\nb\x1b[1m\x7f\tc"), "a\\x0ab\\x1b[1m\\x7f\\x09c");
  EXPECT_EQ(shortened("gr\u00fc\u00dfe"), "gr\u00fc\u00dfe");
  EXPECT_EQ(shortened("\n"), "");
}

TEST(Reason, ALongOneIsCutBetweenTwoCharacters) {
  const std::string fits(kMostReason, 'x');
  EXPECT_EQ(shortened(fits), fits);
  EXPECT_EQ(shortened(fits + "y"), fits.substr(3) + "...");
  std::string wide = "x";
  while (wide.size() <= kMostReason) wide += "\u00fc";  // two bytes
  const auto cut = shortened(wide);
  EXPECT_LE(cut.size(), kMostReason);
  EXPECT_EQ(cut, wide.substr(0, cut.size() - 3) + "...");
  EXPECT_EQ(cut.size() % 2, 0U) << "x, whole characters, three dots";
}

TEST(Reason, NoReasonLeavesNoColon) {
  EXPECT_EQ(with_reason("exited with status 1", ""), "exited with status 1");
  EXPECT_EQ(with_reason("exited with status 1", "no room"), "exited with status 1: no room");
}

}  // namespace
}  // namespace steelyard::supervise
