// Random upstreams, random loads, random Tables one after the other: every picker against the rule,
// read off the model.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "test/pick/rig.h"

namespace steelyard::pick {
namespace {

using model::Eligibility;

class Eligible : public testing::TestWithParam<const Kind*> {};
std::vector<const Kind*> all() {
  std::vector<const Kind*> out;
  for (const Kind& kind : kinds()) out.push_back(&kind);
  return out;
}
INSTANTIATE_TEST_SUITE_P(AllPickers, Eligible, testing::ValuesIn(all()),
                         [](const auto& row) { return std::string(row.param->name); });

double random_weight(base::Rng& rng) {
  switch (rng.below(6)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return static_cast<double>(1 + rng.below(100));
    case 3:
      return static_cast<double>(1 + rng.below(1'000'000));
    case 4:
      return rng.unit() + 1e-6;
    default:
      return std::pow(10, rng.unit() * 12 - 6);
  }
}

// The rule, spelled out here a second time on purpose.
bool allowed(const Rig& rig, std::size_t at, std::span<const model::NodeRef> tried) {
  const auto& node = rig.upstream.nodes[at];
  const auto& line = rig.slots.line(node.ref);
  if (node.eligibility == Eligibility::kDraining || !(node.weight > 0)) return false;
  if (node.eligibility == Eligibility::kOut && !rig.upstream.panic) return false;
  if (std::find(tried.begin(), tried.end(), node.ref) != tried.end()) return false;
  return line.max_in_flight == 0 || line.in_flight < line.max_in_flight;
}

// One random step from Table to Table: nodes come, go, move, change weight or standing.
void change(Rig& rig, base::Rng& rng, std::size_t most) {
  auto& nodes = rig.upstream.nodes;
  constexpr std::array kStandings{Eligibility::kUsable, Eligibility::kUsable, Eligibility::kTrial,
                                  Eligibility::kOut, Eligibility::kDraining};
  for (std::uint64_t left = rng.below(4); left > 0; --left) {
    const std::size_t at = nodes.empty() ? 0 : rng.below(nodes.size());
    switch (rng.below(6)) {
      case 0:
        if (nodes.size() < most)
          rig.add(random_weight(rng), kStandings[rng.below(kStandings.size())]);
        break;
      case 1:
        if (nodes.empty()) break;
        rig.line(at).in_flight = 0;
        rig.slots.release(nodes[at].ref);
        nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        if (!nodes.empty()) std::swap(nodes[at], nodes[rng.below(nodes.size())]);
        break;
      case 3:
        if (!nodes.empty()) nodes[at].weight = random_weight(rng);
        break;
      case 4:
        if (!nodes.empty()) nodes[at].eligibility = kStandings[rng.below(kStandings.size())];
        break;
      default:
        rig.upstream.panic = rng.below(4) == 0;
    }
  }
  for (const auto& node : nodes) {
    auto& line = rig.slots.line(node.ref);
    line.max_in_flight =
        node.eligibility == Eligibility::kTrial ? 1U : static_cast<std::uint32_t>(rng.below(3));
    line.in_flight = static_cast<std::uint32_t>(rng.below(3));
  }
}

TEST_P(Eligible, PicksExactlyWhenTheRuleAllowsSomeNodeAndOnlySuchANode) {
  const Kind& kind = *GetParam();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    Rig rig(std::vector<double>(rng.below(3), 1.0), 64);
    auto picker = kind.make(rig.upstream);
    const auto cursor = picker->make_cursor(rng);
    for (int table = 0; table < 100; ++table) {
      change(rig, rng, 12);
      picker = kind.make(rig.upstream);
      picker->adopt(*cursor);
      for (int i = 0; i < 10; ++i) {
        std::vector<model::NodeRef> tried;
        for (const auto& node : rig.upstream.nodes) {
          if (rng.below(4) == 0) tried.push_back(node.ref);
        }
        bool some = false;
        for (std::size_t at = 0; at < rig.upstream.nodes.size(); ++at)
          some = some || allowed(rig, at, tried);
        const auto at = picker->pick(rig.input(tried), *cursor, rng);
        ASSERT_EQ(at.has_value(), some);
        if (at) {
          ASSERT_LT(*at, rig.upstream.nodes.size());
          ASSERT_TRUE(allowed(rig, *at, tried));
        }
      }
    }
  }
}

}  // namespace
}  // namespace steelyard::pick
