#include "steelyard/weigh/registry.h"

#include <algorithm>
#include <array>

#include "steelyard/schema/describe.h"
#include "steelyard/weigh/capacity.h"
#include "steelyard/weigh/cpu_target.h"
#include "steelyard/weigh/factors.h"
#include "steelyard/weigh/score_map.h"
#include "steelyard/weigh/static_weights.h"

namespace steelyard::weigh {

namespace {

template <typename Law, typename LawOptions>
constexpr Kind kind(std::string_view name, std::string_view summary, std::string_view needs) {
  return {name, summary, needs, &schema::describe<LawOptions>,
          [](const schema::Choice& choice) -> std::unique_ptr<Controller> {
            return std::make_unique<Law>(choice.as<LawOptions>());
          }};
}

constexpr std::array kChoices{
    Kind{kAdaptive, "Chooses by what the nodes report: capacity, score_map or static.", "", nullptr,
         nullptr},
    Kind{"static", "The configured weights.", "", nullptr,
         [](const schema::Choice&) -> std::unique_ptr<Controller> {
           return std::make_unique<StaticWeights>();
         }},
    kind<ScoreMap, ScoreMapOptions>("score_map", "A table from health score to weight.", "score"),
    kind<Factors, FactorsOptions>("factors", "Score, throughput and latency in one formula.",
                                  "score, rate and latency where known"),
    kind<CpuTarget, CpuTargetOptions>(
        "cpu_target", "The base weight times wanted over present utilisation.", "utilisation"),
    kind<Capacity, CapacityOptions>(
        "capacity", "Rate over utilisation: the work a node would do if it were full.",
        "utilisation, rate of our own traffic"),
};

}  // namespace

std::span<const Kind> choices() { return kChoices; }

std::span<const Kind> kinds() noexcept { return std::span<const Kind>(kChoices).subspan(1); }

const Kind* find(std::string_view name) noexcept {
  const auto all = kinds();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Kind& kind) { return kind.name == name; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace steelyard::weigh
