#include "steelyard/weigh/score_map.h"

#include <utility>

#include "steelyard/weigh/words.h"

namespace steelyard::weigh {

void ScoreMapOptions::check(schema::Faults& faults) const {
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i].from >= table[i - 1].from) {
      faults.error("table", "must go from high to low scores, but " + decimal(table[i].from) +
                                " follows " + decimal(table[i - 1].from));
      return;
    }
  }
}

ScoreMap::ScoreMap(ScoreMapOptions options) : options_(std::move(options)) {}

Law ScoreMap::law() const noexcept {
  return {.scale = options_.absolute ? Scale::kAbsolute : Scale::kFactor,
          .smoothing = Smoothing::kMean};
}

std::size_t ScoreMap::step_of(double score) const noexcept {
  std::size_t step = 0;
  while (step < options_.table.size() && score < options_.table[step].from) ++step;
  return step;
}

double ScoreMap::value_of(std::size_t step) const noexcept {
  return step < options_.table.size() ? options_.table[step].value : options_.otherwise;
}

void ScoreMap::wish(std::span<const View> nodes, base::TimePoint, std::span<Wish> out) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const View& node = nodes[i];
    Wish& wish = out[i];
    if (node.seen->report_failed) {
      wish.known = wish.floor = true;
      if (node.explain) wish.why = "asking for its score failed: the floor weight";
      continue;
    }
    if (!node.seen->score) {
      if (node.explain) wish.why = "no score known";
      continue;
    }
    const double score = node.seen->score->value;
    const std::size_t plain = step_of(score);
    std::size_t step = plain;
    if (const std::size_t* last = steps_.find(node.ref); last != nullptr && plain > *last) {
      const std::size_t fallen = step_of(score + options_.hysteresis);
      step = fallen > *last ? fallen : *last;
    }
    steps_.put(node.ref, step);
    wish.known = true;
    wish.value = options_.absolute ? value_of(step) : value_of(step) / 10;
    if (node.explain) {
      wish.why = "score " + decimal(score) + " → " + decimal(value_of(step)) +
                 (options_.absolute ? "" : " of 10");
      if (step != plain)
        wish.why += " (not yet " + decimal(options_.hysteresis) + " points below the edge)";
    }
  }
}

}  // namespace steelyard::weigh
