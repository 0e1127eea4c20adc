// An upstream as configured or discovered: named nodes with addresses and base weights. Plain
// values.
#pragma once

#include <string>
#include <vector>

#include "steelyard/base/address.h"

namespace steelyard::model {

struct NodeSpec {
  std::string name;
  base::Address address;
  double weight = 1;  // base weight, ≥ 0; 0 = drained from the start
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

struct UpstreamSpec {
  std::string name;
  std::vector<NodeSpec> nodes;
  friend bool operator==(const UpstreamSpec&, const UpstreamSpec&) = default;
};

}  // namespace steelyard::model
