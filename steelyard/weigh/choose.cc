#include "steelyard/weigh/choose.h"

#include <algorithm>

#include "steelyard/weigh/registry.h"

namespace steelyard::weigh {

namespace {

std::string of(std::uint32_t part, std::uint32_t all) {
  return std::to_string(part) + " of " + std::to_string(all) + " nodes";
}

Choice capacity(const Reported& r) {
  return {"capacity", of(r.utilisation, r.nodes) + " report utilisation"};
}
Choice score_map(const Reported& r) {
  return {"score_map",
          of(r.score, r.nodes) + " report a score, " + of(r.utilisation, r.nodes) +
              " a utilisation" +
              (r.utilisation > r.capacity ? ", without traffic of ours to divide by it" : "")};
}

}  // namespace

Choice choose(const Reported& r, std::string_view running) {
  // Capacity needs two nodes to compare, and most of those that report anything.
  const bool most = r.capacity >= 2 && 2 * r.capacity >= std::max(r.score, r.utilisation);
  const bool silent = r.score == 0 && r.utilisation == 0;
  if (silent && !running.empty() && running != "static") {
    return {running, "no node reports any more: what ran before goes on"};
  }
  if (running == "capacity" && (r.utilisation >= 2 || r.score == 0)) return capacity(r);
  if (most) return capacity(r);
  if (r.score > 0) return score_map(r);
  if (r.utilisation > 0 && running == "score_map")
    return {running, "no node reports a score any more"};
  if (r.utilisation > 0)
    return {"static", "utilisation is reported, but fewer than two nodes have traffic of ours"};
  return {"static", "no node reports a utilisation or a score"};
}

Choice choose(std::string_view configured, bool collects) {
  if (configured != kAdaptive) {
    const Kind* kind = find(configured);
    std::string why = "configured";
    if (kind != nullptr && !kind->needs.empty() && !collects) {
      why += "; needs " + std::string(kind->needs) +
             ", but sense.score is not configured: weights stay at their base";
    }
    return {kind != nullptr ? kind->name : "static", std::move(why)};
  }
  if (collects) {
    return {"score_map",
            "scores are collected; capacity once two nodes report a utilisation (cpuUsagePct) and "
            "have traffic"};
  }
  return {"static", "nothing is collected from the nodes (sense.score)"};
}

}  // namespace steelyard::weigh
