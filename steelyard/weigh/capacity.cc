#include "steelyard/weigh/capacity.h"

#include "steelyard/weigh/words.h"

namespace steelyard::weigh {
namespace {

constexpr double kLeastRate = 0.2;  // a second; guess: the floor's trickle on a quiet upstream

}  // namespace

void Capacity::wish(std::span<const View> nodes, base::TimePoint now, std::span<Wish> out) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const View& node = nodes[i];
    const model::Observation& seen = *node.seen;
    Wish& wish = out[i];
    if (!seen.utilisation || seen.utilisation->age(now) > options_.expiry) {
      reporting_since_.forget(node.ref);
      if (node.explain) wish.why = "no utilisation known";
      continue;
    }
    const base::TimePoint* since = reporting_since_.find(node.ref);
    if (since == nullptr) since = &reporting_since_.put(node.ref, now);
    if (now - *since < options_.blackout) {
      wish.hold = true;
      if (node.explain) {
        wish.why = "reporting for " + lasting(now - *since) + ", counts after " +
                   lasting(options_.blackout);
      }
      continue;
    }
    const double used = seen.utilisation->value;
    const double rate = seen.rate && seen.rate->age(now) <= options_.expiry ? seen.rate->value : 0;
    if (used <= 0 || rate <= 0) {
      if (node.explain)
        wish.why = rate <= 0 ? "no traffic to measure" : "utilisation 0 says nothing";
      continue;
    }
    // The quotient of two fading averages is noise: a node that is all but idle is unknown, not
    // held, so that one at its floor on a quiet upstream is not locked out.
    if (rate < kLeastRate) {
      if (node.explain) wish.why = "too little traffic to measure, under 1 in 5 s";
      continue;
    }
    const double errors = seen.error_rate ? seen.error_rate->value : 0;
    wish.known = true;
    wish.value = weight(rate, used, errors, options_.penalty);
    if (node.explain) {
      wish.why = decimal(rate) + "/s at utilisation " + percent(used) +
                 (errors > 0 ? " and " + percent(errors) + " errors" : std::string()) +
                 " → capacity " + decimal(wish.value) + "/s";
    }
  }
}

}  // namespace steelyard::weigh
