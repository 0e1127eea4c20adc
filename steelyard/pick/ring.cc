#include "steelyard/pick/ring.h"

#include <algorithm>
#include <bit>

namespace steelyard::pick {

// A counting sort by the first bits, which leaves about one point in each bucket.
Ring::Ring(const std::vector<Point>& points) {
  const std::size_t buckets = std::bit_ceil(std::max<std::size_t>(points.size(), 2));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets));
  std::vector<std::uint32_t> from(buckets + 1, 0);
  for (const Point& point : points) ++from[(point.at >> shift_) + 1];
  for (std::size_t b = 0; b < buckets; ++b) from[b + 1] += from[b];
  std::vector<Point> sorted(points.size());
  auto place = from;
  for (const Point& point : points) sorted[place[point.at >> shift_]++] = point;

  points_.reserve(points.size());
  first_.reserve(buckets);
  for (std::size_t b = 0; b < buckets; ++b) {
    first_.push_back(static_cast<std::uint32_t>(points_.size()));
    const auto begin = sorted.begin() + from[b];
    const auto end = sorted.begin() + from[b + 1];
    if (end - begin > 1) {
      std::stable_sort(begin, end, [](const Point& a, const Point& c) { return a.at < c.at; });
    }
    for (auto it = begin; it != end; ++it) {
      if (points_.empty() || points_.back().at != it->at) points_.push_back(*it);
    }
  }
}

std::vector<double> Ring::shares(std::size_t owners, bool nearest) const {
  std::vector<double> out(owners, 0);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    // From the point before, around the end of the circle for the first; a lone point has it all.
    const std::uint64_t arc = points_[i].at - points_[before(i)].at;
    const double part = points_.size() == 1 ? 1 : static_cast<double>(arc) * 0x1p-64;
    out[points_[i].owner] += nearest ? part / 2 : part;
    if (nearest) out[points_[before(i)].owner] += part / 2;
  }
  return out;
}

}  // namespace steelyard::pick
