#include "steelyard/weigh/trust.h"

#include <array>
#include <gtest/gtest.h>
#include <string_view>
#include <vector>

#include "test/weigh/scene.h"

namespace steelyard::weigh {
namespace {

using std::chrono::milliseconds;

struct Measured {
  double errors;
  int ms;
};

std::optional<std::string> objection(const std::vector<Measured>& nodes, std::size_t to) {
  std::vector<model::Observation> seen(nodes.size());
  std::vector<View> views;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].errors >= 0) seen[i].error_rate = {nodes[i].errors, at(0), 1};
    if (nodes[i].ms >= 0) seen[i].latency_p50 = {milliseconds(nodes[i].ms), at(0), 1};
    views.push_back({{static_cast<std::uint32_t>(i), 1}, 1.0, &seen[i], false});
  }
  return Trust(views, {}).objection(seen[to]);
}

TEST(Trust, ObjectsOnlyToWhatIsWorseThanTheMedianByMoreThanTheBand) {
  struct Row {
    std::string_view name;
    std::vector<Measured> nodes;
    bool objects;  // to the first
  };
  const std::array rows{
      Row{"like the others", {{0, 50}, {0, 50}, {0, 50}}, false},
      Row{"five points more errors", {{0.05, 50}, {0, 50}, {0, 50}}, false},
      Row{"more than five points", {{0.06, 50}, {0, 50}, {0, 50}}, true},
      Row{"all fail alike", {{0.5, 50}, {0.5, 50}, {0.5, 50}}, false},
      Row{"fewer errors than the others", {{0, 50}, {0.3, 50}, {0.3, 50}}, false},
      Row{"twice the latency", {{0, 100}, {0, 50}, {0, 50}}, false},
      Row{"more than twice", {{0, 101}, {0, 50}, {0, 50}}, true},
      Row{"more than twice of very little", {{0, 11}, {0, 2}, {0, 2}}, false},
      Row{"much faster", {{0, 1}, {0, 50}, {0, 50}}, false},
      Row{"fast errors", {{0.9, 1}, {0, 50}, {0, 50}}, true},
      Row{"not measured", {{-1, -1}, {0, 50}, {0, 50}}, false},
      Row{"nothing to compare with", {{0.9, 900}, {-1, -1}, {-1, -1}}, false},
      Row{"of two the better one is the measure", {{0.2, 50}, {0, 50}}, true},
  };
  for (const Row& row : rows)
    EXPECT_EQ(objection(row.nodes, 0).has_value(), row.objects) << row.name;
}

TEST(Trust, SaysItsNumbers) {
  EXPECT_EQ(*objection({{0.9, 1}, {0, 50}, {0.01, 50}}, 0),
            "its error rate is 90 %, the upstream's median 1 %");
  EXPECT_EQ(*objection({{0, 400}, {0, 50}, {0, 60}}, 0),
            "its median latency is 400 ms, the upstream's 60 ms");
}

}  // namespace
}  // namespace steelyard::weigh
