// Generations: the Configs that a worker's exchanges still use, and where their upstreams stand in
// the current Table.
//
// An exchange counts a reference on the generation it began under; the current one is always live.
// The oldest number is what the worker publishes; control frees what is older. Owned by one worker.
// A new Table recomputes the places of all live generations, so that a pick needs an index only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "steelyard/proxy/published.h"

namespace steelyard::proxy {

struct Generation {
  const Config* config = nullptr;
  std::uint32_t users = 0;
  std::vector<std::optional<std::uint32_t>> places;  // of Config::upstreams in the current Table
};

class Generations {
 public:
  static constexpr std::size_t kMost = 8;

  // The former current one stays until `drop_unused`: listeners may still have to hold on to it.
  void take(const Config& config, const model::Table& table);
  void drop_unused() noexcept;
  [[nodiscard]] Generation* current() const noexcept {
    return live_.empty() ? nullptr : live_.back().get();
  }
  [[nodiscard]] Generation* oldest() const noexcept {
    return live_.empty() ? nullptr : live_.front().get();
  }
  [[nodiscard]] std::size_t size() const noexcept { return live_.size(); }

 private:
  std::vector<std::unique_ptr<Generation>> live_;  // oldest first; exchanges point at them
};

}  // namespace steelyard::proxy
