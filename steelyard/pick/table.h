// pick::Table: a model::Table with the picker of each upstream prepared. What control publishes and
// a worker reads.
//
// Immutable once made. Upstreams stand in the order of the model::Table; `pickers[i]` serves
// `table->upstreams[i]`. Built and destroyed by control; a worker holds a pointer for one turn at
// most.
#pragma once

#include <memory>
#include <vector>

#include "steelyard/pick/picker.h"
#include "steelyard/pick/registry.h"

namespace steelyard::pick {

struct Table {
  std::shared_ptr<const model::Table> model;
  std::vector<const Kind*> kinds;
  std::vector<std::unique_ptr<const Picker>> pickers;

  // `chosen[i]` is for upstream i.
  static std::unique_ptr<const Table> make(std::shared_ptr<const model::Table> model,
                                           const std::vector<Chosen>& chosen);
};

}  // namespace steelyard::pick
