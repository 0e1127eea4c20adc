// Ring: points on a circle of 2^64 numbers, each with an owner; which point a number meets.
//
// Placements whose numbers have 32 bits stand in the high half, and so do the numbers asked for.
// Of points at one place the first given stays. A point is found through a table of the numbers'
// first bits, one entry a point or two, and a short walk: two places in memory, whatever the size.
// Cost: to make O(points), about 40 bytes each meanwhile and 24 after; `successor` O(1) for points
// that are spread as by a hash, at worst O(points). Immutable, shared by all workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace steelyard::pick {

class Ring {
 public:
  struct Point {
    std::uint64_t at = 0;
    std::uint32_t owner = 0;
    friend bool operator==(const Point&, const Point&) = default;
  };

  Ring() = default;  // without points
  explicit Ring(const std::vector<Point>& points);

  [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }
  [[nodiscard]] const Point& operator[](std::size_t i) const noexcept { return points_[i]; }
  // In ascending order; behind the last one comes the first.
  [[nodiscard]] const std::vector<Point>& points() const noexcept { return points_; }
  [[nodiscard]] std::size_t next(std::size_t i) const noexcept {
    return i + 1 == points_.size() ? 0 : i + 1;
  }
  [[nodiscard]] std::size_t before(std::size_t i) const noexcept {
    return i == 0 ? points_.size() - 1 : i - 1;
  }

  // The first point at or behind the number. The ring has points.
  [[nodiscard]] std::size_t successor(std::uint64_t number) const noexcept {
    std::size_t i = first_[number >> shift_];
    while (i < points_.size() && points_[i].at < number) ++i;
    return i == points_.size() ? 0 : i;
  }

  // The part of the circle that meets a point of each owner first, or to which one of its points is
  // the `nearest`; their sum is 1.
  [[nodiscard]] std::vector<double> shares(std::size_t owners, bool nearest = false) const;

 private:
  std::vector<Point> points_;
  std::vector<std::uint32_t> first_;  // of each bucket: the first point in it or behind it
  unsigned shift_ = 63;
};

}  // namespace steelyard::pick
