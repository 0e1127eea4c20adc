#include "steelyard/base/histogram.h"

#include <algorithm>

namespace steelyard::base {

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

Histogram Histogram::since(const Histogram& earlier) const noexcept {
  Histogram out;
  for (std::size_t i = 0; i < counts_.size(); ++i) out.counts_[i] = counts_[i] - earlier.counts_[i];
  return out;
}

std::uint64_t Histogram::count() const noexcept {
  std::uint64_t n = 0;
  for (const auto c : counts_) n += c;
  return n;
}

std::optional<Duration> Histogram::quantile(double q) const noexcept {
  const std::uint64_t n = count();
  if (n == 0) return std::nullopt;
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(n);
  double below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const double here = counts_[i];
    if (here == 0 || below + here < rank) {
      below += here;
      continue;
    }
    const double part = std::clamp((rank - below) / here, 0.0, 1.0);
    const double low = static_cast<double>(HistogramShape::lower(i));
    const double high = static_cast<double>(HistogramShape::lower(i + 1));
    return from_seconds((low + (high - low) * part) * 1e-6);
  }
  return from_seconds(static_cast<double>(HistogramShape::lower(counts_.size())) * 1e-6);
}

Histogram CellHistogram::read() const noexcept {
  Histogram out;
  for (std::size_t i = 0; i < counts_.size(); ++i) out.counts()[i] = counts_[i].read();
  return out;
}

}  // namespace steelyard::base
