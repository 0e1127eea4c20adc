#include "steelyard/admin/exposition.h"

#include <cmath>
#include <gtest/gtest.h>

namespace steelyard::admin {
namespace {

using namespace std::chrono_literals;

TEST(Exposition, WritesHelpTypeAndSamples) {
  Exposition out;
  out.family("x_total", "counter", "Things.");
  out.sample({{"a", "1"}, {"b", "q\"\\\n"}}, std::uint64_t{7});
  out.sample({}, 0.5);
  EXPECT_EQ(std::move(out).take(),
            "# HELP steelyard_x_total Things.\n# TYPE steelyard_x_total counter\n"
            "steelyard_x_total{a=\"1\",b=\"q\\\"\\\\\\n\"} 7\nsteelyard_x_total 0.5\n");
}

TEST(Exposition, HistogramBucketsGrowAndEndInTheCount) {
  base::Histogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(std::chrono::milliseconds(i));
  histogram.add(60s);
  Exposition out;
  out.family("h_seconds", "histogram", "Times.");
  out.histogram({{"node", "a"}}, histogram);
  const auto text = std::move(out).take();
  double last = 0;
  int buckets = 0;
  for (std::size_t at = text.find("_bucket{"); at != std::string::npos;
       at = text.find("_bucket{", at + 1)) {
    const double value = std::stod(text.substr(text.find("} ", at) + 2));
    EXPECT_GE(value, last);
    last = value;
    ++buckets;
  }
  EXPECT_EQ(buckets, 15);
  EXPECT_EQ(last, 1001);
  EXPECT_NE(text.find("_count{node=\"a\"} 1001"), std::string::npos);
  const auto half = text.find("le=\"0.5\"} ");
  EXPECT_NEAR(std::stod(text.substr(half + 10)), 500, 20);
  const double sum = std::stod(text.substr(text.find("_sum{node=\"a\"} ") + 15));
  EXPECT_NEAR(sum, 500.5 + 60, 0.063 * 560.5);
}

}  // namespace
}  // namespace steelyard::admin
