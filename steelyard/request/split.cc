#include "steelyard/request/split.h"

#include <cmath>

namespace steelyard::request {

Split::Split(std::span<const SplitOptions> parts, std::string_view by) {
  for (const auto& part : parts) {
    parts_.push_back({part.weight, hash_of(part.upstream)});
    total_ += part.weight;
  }
  if (auto source = KeySource::parse(by)) source_ = std::move(*source);
}

std::size_t Split::choose(std::optional<std::uint64_t> key, base::Rng& rng) const noexcept {
  std::size_t best = 0;
  if (!key) {
    double left = rng.unit() * total_;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].weight <= 0) continue;
      best = i;  // the last one where rounding leaves a rest
      left -= parts_[i].weight;
      if (left < 0) break;
    }
    return best;
  }
  double most = -1;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].weight <= 0) continue;
    base::Rng mixed(*key ^ parts_[i].name);
    const double unit = (static_cast<double>(mixed() >> 11U) + 0.5) * 0x1.0p-53;
    const double score = -parts_[i].weight / std::log(unit);
    if (score > most) {
      most = score;
      best = i;
    }
  }
  return best;
}

}  // namespace steelyard::request
