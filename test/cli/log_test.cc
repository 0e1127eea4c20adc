#include "steelyard/cli/log.h"

#include <array>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace steelyard::cli {
namespace {

TEST(Log, OneEventIsOneLineWhateverTheValues) {
  EXPECT_EQ(log_line("T", "start", {{"workers", "2"}}), "T start workers=2\n");
  EXPECT_EQ(log_line("T", "decision", {{"reason", "a \"b\"\nc"}, {"empty", ""}}),
            "T decision reason=\"a \\\"b\\\"\\x0ac\" empty=\"\"\n");
}

TEST(Log, AReaderThatDoesNotReadCostsLinesAndNothingElse) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK), 0);
  std::string got;
  const auto drain = [&] {
    std::array<char, 65536> part{};
    for (ssize_t n = 0; (n = ::read(ends[0], part.data(), part.size())) > 0;) {
      got.append(part.data(), static_cast<std::size_t>(n));
    }
  };
  Log log(ends[1]);
  const std::string text(1000, 'x');
  for (int i = 0; i < 1000; ++i) log.event("e", {{"text", text}});
  EXPECT_GT(log.dropped(), 500U);
  EXPECT_LT(log.dropped(), 1000U);
  drain();
  log.event("after", {});
  drain();
  EXPECT_NE(got.find(" after\n"), std::string::npos);
  EXPECT_NE(got.find(" log_dropped lines=" + std::to_string(log.dropped())), std::string::npos);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace steelyard::cli
