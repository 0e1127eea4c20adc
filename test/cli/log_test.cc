#include "steelyard/cli/log.h"

#include <gtest/gtest.h>

namespace steelyard::cli {
namespace {

TEST(Log, OneEventIsOneLineWhateverTheValues) {
  EXPECT_EQ(log_line("T", "start", {{"workers", "2"}}), "T start workers=2\n");
  EXPECT_EQ(log_line("T", "decision", {{"reason", "a \"b\"\nc"}, {"empty", ""}}),
            "T decision reason=\"a \\\"b\\\"\\x0ac\" empty=\"\"\n");
}

}  // namespace
}  // namespace steelyard::cli
