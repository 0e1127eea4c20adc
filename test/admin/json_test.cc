#include "steelyard/admin/json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace steelyard::admin {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const Now kNow{base::TimePoint(100s), io::WallTime(1'800'000'000s)};

control::UpstreamView view() {
  control::NodeView node;
  node.name = "node-a";
  node.address = base::Address::loopback(8081);
  node.seen.score = model::Signal<double>{78, kNow.steady - 3s, 4};
  node.override_ = model::Override{2, "canary", "ops", kNow.steady - 10s, kNow.steady + 50s};
  node.last_decision = "node-a: weight 4 → 2";
  node.last_decision_at = kNow.steady - 1s;
  return {.name = "api", .picker = "p2c", .controller = "capacity", .nodes = {node}, .gone = {}};
}

TEST(AdminJson, UnknownIsNullAndTimesAreRealTimes) {
  const auto text = upstreams_json(std::array{view()}, {.table = 7, .config = 2}, kNow);
  const auto got = json::parse(text);
  EXPECT_EQ(got["table"], 7);
  EXPECT_EQ(got["at"], "2027-01-15T08:00:00.000Z");
  const auto& node = got["upstreams"][0]["nodes"][0];
  EXPECT_TRUE(node["share_seen"].is_null());
  EXPECT_TRUE(node["pool_advice"].is_null());
  EXPECT_TRUE(node["seen"]["utilisation"].is_null());
  EXPECT_EQ(node["seen"]["score"]["value"], 78);
  EXPECT_EQ(node["seen"]["score"]["age_seconds"], 3);
  EXPECT_EQ(node["override"]["until"], "2027-01-15T08:00:50.000Z");
  EXPECT_EQ(node["last_decision"]["at"], "2027-01-15T07:59:59.000Z");
}

TEST(AdminJson, ADecisionCarriesItsStages) {
  model::Decision decision;
  decision.at = kNow.steady;
  decision.node = {"api", "node-a"};
  decision.change = model::Change::kWeight;
  decision.stages = {{"controller", 2.5, false, ""}, {"step", 2, true, "limited to ÷2"}};
  decision.reason = "node-a: weight 4 → 2";
  const std::array list{static_cast<const model::Decision*>(&decision)};
  const auto got = json::parse(decisions_json(list, kNow))["decisions"][0];
  EXPECT_EQ(got["change"], "weight");
  EXPECT_EQ(got["stages"][1]["stage"], "step");
  EXPECT_EQ(got["stages"][1]["why"], "limited to ÷2");
  EXPECT_EQ(got["stages"][0]["bit"], false);
}

TEST(AdminJson, BytesThatAreNotTextDoNotBreakIt) {
  EXPECT_EQ(json::parse(error_json(404, "\xff?"))["error"]["status"], 404);
}

}  // namespace
}  // namespace steelyard::admin
