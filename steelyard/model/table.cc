#include "steelyard/model/table.h"

namespace steelyard::model {

std::string_view to_text(Eligibility eligibility) noexcept {
  switch (eligibility) {
    case Eligibility::kUsable:
      return "usable";
    case Eligibility::kTrial:
      return "trial";
    case Eligibility::kOut:
      return "out";
    case Eligibility::kDraining:
      return "draining";
  }
  return "unknown";
}

double TableUpstream::share(std::size_t at) const noexcept {
  double sum = 0;
  for (const auto& node : nodes) {
    if (in_rotation(node.eligibility, panic)) sum += node.weight;
  }
  const auto& node = nodes[at];
  return sum > 0 && in_rotation(node.eligibility, panic) ? node.weight / sum : 0;
}

const TableNode* TableUpstream::find(std::string_view node) const noexcept {
  for (const auto& n : nodes) {
    if (n.name == node) return &n;
  }
  return nullptr;
}

const TableUpstream* Table::find(std::string_view upstream) const noexcept {
  for (const auto& u : upstreams) {
    if (u.name == upstream) return &u;
  }
  return nullptr;
}

}  // namespace steelyard::model
