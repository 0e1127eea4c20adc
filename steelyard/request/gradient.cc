#include "steelyard/request/gradient.h"

#include <algorithm>

namespace steelyard::request {
namespace {

constexpr double kTolerance = 1.5;
constexpr double kQueue = 4;
constexpr double kSmoothing = 0.2;
constexpr double kLongWindows = 600;
constexpr std::uint32_t kWarmUp = 10;  // windows whose plain mean begins the long run
constexpr std::uint32_t kLeastAnswers = 10;
constexpr base::Duration kWindow = std::chrono::seconds(1);

}  // namespace

double gradient_step(double limit, double long_run, double short_run, double in_flight,
                     double least, double most) noexcept {
  if (in_flight < limit / 2) return std::clamp(limit, least, most);
  const double gradient = std::clamp(kTolerance * long_run / short_run, 0.5, 1.0);
  const double next = limit * gradient + kQueue;
  return std::clamp(limit * (1 - kSmoothing) + next * kSmoothing, least, most);
}

void Gradient::learn(double short_run) noexcept {
  if (windows_ < kWarmUp) {
    ++windows_;
    long_ += (short_run - long_) / windows_;
  } else {
    long_ += (short_run - long_) * 2 / (kLongWindows + 1);
  }
  if (long_ / short_run > 2) long_ *= 0.95;
}

std::optional<double> Gradient::answered(base::Duration took, std::uint32_t in_flight, double limit,
                                         double least, double most, base::TimePoint now) noexcept {
  if (window_end_ == base::TimePoint::min()) window_end_ = now + kWindow;
  // A clock that stood still for the whole of an answer still measured something.
  sum_ += std::max(base::seconds(took), 1e-6);
  ++count_;
  most_in_flight_ = std::max(most_in_flight_, in_flight);
  if (now < window_end_ || count_ < kLeastAnswers) return std::nullopt;
  const double short_run = sum_ / count_;
  learn(short_run);
  const double next = gradient_step(limit, long_, short_run, most_in_flight_, least, most);
  sum_ = 0;
  count_ = most_in_flight_ = 0;
  window_end_ = now + kWindow;
  return next;
}

}  // namespace steelyard::request
