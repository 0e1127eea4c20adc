#include "steelyard/admin/metrics.h"

#include <array>
#include <gtest/gtest.h>
#include <string>

namespace steelyard::admin {
namespace {

using namespace std::chrono_literals;

TEST(Metrics, ANodesLimitAndItsBaseLatencyAreThereWhereTheyAreKnown) {
  control::NodeView moving, free;
  moving.name = "a";
  moving.limit = 23.5;
  moving.base_latency = 12ms;
  free.name = "b";
  const control::UpstreamView view{.name = "api", .nodes = {moving, free}, .gone = {}};
  Exposition out;
  write_upstream_metrics(out, std::array{view}, {}, base::TimePoint(1s));
  const auto text = std::move(out).take();
  const auto has = [&](std::string_view line) { return text.find(line) != text.npos; };
  EXPECT_TRUE(has("\nsteelyard_upstream_inflight_limit{upstream=\"api\",node=\"a\"} 23.5\n"))
      << text;
  EXPECT_TRUE(
      has("\nsteelyard_upstream_base_latency_seconds{upstream=\"api\",node=\"a\"} 0.012\n"));
  EXPECT_FALSE(has("_limit{upstream=\"api\",node=\"b\"}")) << "none is no zero";
  EXPECT_FALSE(has("_base_latency_seconds{upstream=\"api\",node=\"b\"}"));
}

}  // namespace
}  // namespace steelyard::admin
