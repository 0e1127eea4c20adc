#include "steelyard/config/document.h"

#include <algorithm>

namespace steelyard::config {

std::string name_from(const base::Address& address) {
  std::string out = address.family() == base::Address::Family::kV6 ? "v6-" : "";
  out += address.ip_text() + "-" + std::to_string(address.port());
  std::replace(out.begin(), out.end(), ':', '-');
  return out;
}

model::UpstreamSpec spec_of(std::string_view name, const UpstreamOptions& upstream) {
  model::UpstreamSpec out{.name = std::string(name), .nodes = {}};
  for (const auto& node : upstream.nodes) {
    out.nodes.push_back({.name = node.name.empty() ? name_from(node.address) : node.name,
                         .address = node.address,
                         .weight = node.weight.value_or(NodeOptions::kDefaultWeight)});
  }
  return out;
}

}  // namespace steelyard::config
