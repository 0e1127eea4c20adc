// Prometheus text exposition, format 0.0.4: families with HELP and TYPE, samples with labels.
//
// Names get the prefix `steelyard_`. Label values are escaped. A value that is not known is not
// written: there is no zero for "unknown". Pure text; no state beyond the buffer.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "steelyard/base/histogram.h"

namespace steelyard::admin {

class Exposition {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Begins a family; its samples follow. type: "counter", "gauge", "histogram".
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(Labels labels, double value);
  void sample(Labels labels, std::uint64_t value);
  // _bucket, _sum and _count of the current family, in seconds, with bounds 0.5 ms … 10 s in
  // 1-2.5-5 steps. A count inside one of our finer buckets is split by linear interpolation; the
  // sum is taken from the middles of the buckets (relative error ≤ 6.3 %).
  void histogram(Labels labels, const base::Histogram& histogram);

  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  void line(std::string_view suffix, Labels labels, std::string_view le, std::string_view value);
  std::string name_;
  std::string text_;
};

}  // namespace steelyard::admin
