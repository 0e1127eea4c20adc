#include "steelyard/cli/service_model.h"

#include <algorithm>
#include <cmath>

namespace steelyard::cli {
namespace {

using base::Duration;
using base::TimePoint;
constexpr Duration kScoreWindow = std::chrono::seconds(5);
constexpr Duration kUtilisationWindow = std::chrono::seconds(1);

}  // namespace

ServiceModel::ServiceModel(unsigned cores, Duration service, std::uint64_t seed)
    : cores_(cores), service_(service), rng_(seed) {}

void ServiceModel::set_cores(unsigned cores, TimePoint now) {
  account(now);
  cores_ = cores;
  start_waiting(now);
}

void ServiceModel::set_faults(const ServiceFaults& faults, TimePoint now) {
  account(now);
  faults_ = faults;
  if (faults_.pause_every <= Duration::zero() || faults_.pause <= Duration::zero()) {
    pause_at_.reset();
  } else {
    plan_pause(now);
  }
  start_waiting(now);  // a hang may be over
}

void ServiceModel::plan_pause(TimePoint begin) { pause_at_ = begin; }

void ServiceModel::arrive(RequestId id, TimePoint now) {
  account(now);
  waiting_.push_back({id, now});
  start_waiting(now);
}

void ServiceModel::cancel(RequestId id) {
  // What is being served goes on, as in a server that does not notice; what waits is dropped.
  std::erase_if(waiting_, [&](const Waiting& w) { return w.id == id; });
}

void ServiceModel::start_waiting(TimePoint now) {
  if (pause_until_ || faults_.hang) return;
  while (!waiting_.empty() && running_.size() < cores_) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    const bool fails = faults_.error_rate > 0 && rng_.unit() < faults_.error_rate;
    const double mean = base::seconds(service_) * std::max(faults_.slow, 0.0);
    const double takes = fails ? 0.0 : -mean * std::log(1.0 - rng_.unit());
    running_.push({now + base::from_seconds(takes), next.arrived, next.id, !fails});
  }
}

void ServiceModel::begin_pause(TimePoint now) {
  const double length = base::seconds(faults_.pause) * (0.5 + 0.5 * rng_.unit());
  const Duration pause = base::from_seconds(length);
  pause_until_ = now + pause;
  ++pauses_;
  std::vector<Running> shifted;
  for (; !running_.empty(); running_.pop()) {
    Running r = running_.top();
    r.until += pause;
    shifted.push_back(r);
  }
  for (const auto& r : shifted) running_.push(r);
  pause_at_ = now + std::max(faults_.pause_every, pause + std::chrono::milliseconds(1));
}

void ServiceModel::advance(TimePoint now, std::vector<Done>& done) {
  for (;;) {
    const auto at = next();
    if (!at || *at > now) break;
    account(*at);
    if (pause_until_ && *at == *pause_until_) {
      pause_until_.reset();
      start_waiting(*at);
    } else if (pause_at_ && *at == *pause_at_) {
      begin_pause(*at);
    } else {
      const Running r = running_.top();
      running_.pop();
      const double took = base::seconds(r.until - r.arrived);
      mean_response_ = mean_response_ == 0 ? took : 0.95 * mean_response_ + 0.05 * took;
      done.push_back({r.id, r.ok});
      start_waiting(*at);
    }
  }
  account(now);
}

std::optional<TimePoint> ServiceModel::next() const {
  std::optional<TimePoint> at;
  const auto earlier = [&](TimePoint t) {
    if (!at || t < *at) at = t;
  };
  if (pause_until_) {
    earlier(*pause_until_);
    return at;  // nothing finishes within a pause
  }
  if (!running_.empty()) earlier(running_.top().until);
  if (pause_at_) earlier(*pause_at_);
  return at;
}

void ServiceModel::account(TimePoint now) {
  if (accounted_ != TimePoint{} && now > accounted_) {
    const bool paused = pause_until_.has_value();
    const double busy =
        paused ? cores_ : static_cast<double>(std::min<std::size_t>(running_.size(), cores_));
    if (!spans_.empty() && spans_.back().busy == busy && spans_.back().paused == paused) {
      spans_.back().to = now;
    } else {
      spans_.push_back({accounted_, now, busy, paused});
    }
  }
  accounted_ = std::max(accounted_, now);
  while (!spans_.empty() && spans_.front().to < now - kScoreWindow) spans_.pop_front();
}

ServiceModel::Health ServiceModel::health(TimePoint now) {
  account(now);
  double busy = 0;
  double covered = 0;
  double paused = 0;
  for (const Span& span : spans_) {
    const auto over = [&](Duration window) {
      return std::max(0.0, base::seconds(span.to - std::max(span.from, now - window)));
    };
    busy += span.busy * over(kUtilisationWindow);
    covered += over(kUtilisationWindow);
    if (span.paused) paused += over(kScoreWindow);
  }
  Health out;
  out.utilisation = covered > 0 ? std::clamp(busy / (cores_ * covered), 0.0, 1.0) : 0;
  out.pauses = pauses_;
  out.active = static_cast<unsigned>(waiting_.size() + running_.size());
  out.mean_response = base::from_seconds(mean_response_);
  const double queue = std::min(1.0, static_cast<double>(waiting_.size()) / (4.0 * cores_));
  const double computed = 100.0 - 80.0 * paused / base::seconds(kScoreWindow) - 20.0 * queue;
  out.score = std::round(std::clamp(faults_.score.value_or(computed), 0.0, 100.0));
  return out;
}

}  // namespace steelyard::cli
