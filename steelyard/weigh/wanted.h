// From wishes to wanted control factors: absolute weights are put in proportion, unknown nodes get
// the mean.
//
// Over the nodes in service:
//   known    kFactor: the value
//            kAbsolute: (w/Σw)·(Σbase/base) over the known nodes; together they keep their share
//   floor    the floor weight
//   hold     what it has
//   unknown  the base-weighted mean of the known controls: its base share among them
//
// Fewer known nodes than the law needs: the base weights (1), except for floors; while some are on
// hold, everyone holds. None known at all: everyone holds (frozen). Cost: O(nodes). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "steelyard/weigh/controller.h"

namespace steelyard::weigh {

enum class Standing : std::uint8_t {
  kKnown,
  kFloor,
  kMean,    // unknown: the mean of the known
  kBase,    // too few known: the base weight
  kHold,    // not yet to be judged
  kFrozen,  // nothing known of anybody
};

struct Want {
  double control = 1;  // says nothing for kHold and kFrozen
  Standing standing = Standing::kFrozen;
};

// `out` is as long as `nodes` and `wishes`. `floor_of(base)` in base units is given as a factor per
// node in `floors`.
void settle(const Law& law, std::span<const View> nodes, std::span<const Wish> wishes,
            std::span<const double> floors, std::span<Want> out);

}  // namespace steelyard::weigh
