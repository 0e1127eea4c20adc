#include "steelyard/request/latency.h"

namespace steelyard::request {
namespace {

constexpr base::Duration kHalf = std::chrono::seconds(10);
constexpr base::Duration kLook = std::chrono::seconds(1);

}  // namespace

void Latency::roll(base::TimePoint now) noexcept {
  if (now < next_half_) return;
  const bool both_old = next_half_ != base::TimePoint::min() && now >= next_half_ + kHalf;
  before_ = both_old ? base::Histogram{} : now_;
  now_ = {};
  next_half_ = now + kHalf;
  next_look_ = now;
}

void Latency::work_out() noexcept {
  base::Histogram all = now_;
  all.merge(before_);
  quantiles_.reset();
  if (all.count() < kEnough) return;
  quantiles_ = Quantiles{*all.quantile(0.5), *all.quantile(0.95), *all.quantile(0.99)};
}

void Latency::add(base::Duration took, base::TimePoint now) noexcept {
  roll(now);
  now_.add(took);
}

const std::optional<Latency::Quantiles>& Latency::quantiles(base::TimePoint now) noexcept {
  roll(now);
  if (now >= next_look_) {
    work_out();
    next_look_ = now + kLook;
  }
  return quantiles_;
}

}  // namespace steelyard::request
