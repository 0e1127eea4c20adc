// `static`: the base weights, whatever the nodes report. Needs no signal.
#pragma once

#include "steelyard/weigh/controller.h"

namespace steelyard::weigh {

class StaticWeights final : public Controller {
 public:
  [[nodiscard]] Law law() const noexcept override { return {.signals = false}; }
  void wish(std::span<const View> nodes, base::TimePoint now, std::span<Wish> out) override;
  void forget(model::NodeRef) override {}
};

}  // namespace steelyard::weigh
