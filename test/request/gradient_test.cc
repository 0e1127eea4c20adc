#include "steelyard/request/gradient.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <gtest/gtest.h>
#include <queue>
#include <vector>

#include "test/request/rig.h"

namespace steelyard::request {
namespace {

using testing::at;
using testing::Rig;
using namespace std::chrono_literals;

TEST(Gradient, StepsAsItsSourceDoes) {
  struct Row {
    std::string_view name;
    double limit, long_run, short_run, in_flight, want;
  };
  constexpr std::array rows{
      Row{"as fast as ever", 100, 0.01, 0.01, 100, 100.8},
      Row{"three times as long", 100, 0.01, 0.03, 100, 90.8},
      Row{"at the tolerance", 100, 0.01, 0.015, 100, 100.8},
      Row{"twice as long", 100, 0.01, 0.02, 100, 95.8},
      Row{"below half in use", 100, 0.01, 0.03, 49, 100},
      Row{"half in use", 100, 0.01, 0.03, 50, 90.8},
      Row{"not above the most", 200, 0.01, 0.01, 200, 200},
      Row{"not below the least", 20, 0.01, 0.03, 20, 20},
  };
  for (const Row& row : rows) {
    EXPECT_NEAR(gradient_step(row.limit, row.long_run, row.short_run, row.in_flight, 20, 200),
                row.want, 1e-9)
        << row.name;
  }
}

TEST(Gradient, AWindowIsASecondAndTenAnswers) {
  Gradient gradient;
  double limit = 100;
  unsigned steps = 0;
  const auto feed = [&](base::Duration when) {
    if (const auto next = gradient.answered(10ms, 100, limit, 20, 200, at(when))) {
      ++steps;
      limit = *next;
    }
  };
  for (int i = 0; i < 9; ++i) feed(i * 100ms);
  feed(1500ms);  // the tenth, after the second
  EXPECT_EQ(steps, 1U);
  EXPECT_NEAR(limit, 100.8, 1e-9);
  for (int i = 0; i < 100; ++i) feed(1600ms);  // answers enough, too soon
  EXPECT_EQ(steps, 1U);
  feed(2500ms);
  EXPECT_EQ(steps, 2U);
  EXPECT_NEAR(limit, 101.6, 1e-9);
  EXPECT_NEAR(gradient.long_run(), 0.010, 1e-9);
}

TEST(Gradient, WhatItGoesByIsToldOnceAWindow) {
  testing::Rig rig(1);
  rig.rules.limits.concurrency = Concurrency::kGradient;
  rig.publish();
  const auto ref = rig.nodes[0].ref;
  const auto& told = rig.slots.cells(ref, 0).base_latency;
  auto& state = rig.states.at(0);
  for (int i = 0; i < 10; ++i) state.answered(ref, 0, 20ms, rig.slots, base::TimePoint(1s));
  EXPECT_EQ(told.read(), 0U) << "no window is over";
  for (int i = 0; i < 10; ++i) state.answered(ref, 0, 20ms, rig.slots, base::TimePoint(3s));
  EXPECT_NEAR(static_cast<double>(told.read()), 20e6, 1e3);
  rig.publish();
  EXPECT_NE(told.read(), 0U) << "kept over tables";
  rig.rules.limits.concurrency = Concurrency::kStatic;
  rig.publish();
  EXPECT_EQ(told.read(), 0U) << "a static limit goes by nothing";
}

TEST(Gradient, ForgetsAnOverloadWhenAnswersAreFastAgain) {
  Gradient gradient;
  int second = 0;
  const auto run = [&](base::Duration took, int windows) {
    for (const int end = second + windows; second < end; ++second) {
      for (int i = 0; i < 10; ++i) {
        (void)gradient.answered(took, 50, 50, 20, 200, at(std::chrono::seconds(second)));
      }
    }
  };
  run(100ms, 20);
  EXPECT_NEAR(gradient.long_run(), 0.1, 0.001);
  run(10ms, 60);
  EXPECT_LT(gradient.long_run(), 0.0205);
}

// A node with eight servers of 50 ms each, and an open loop of requests to it, through the rules.
struct Outcome {
  double goodput = 0;     // answers a second
  double p99 = 0;         // seconds from arrival, of those answered
  double longest_no = 0;  // seconds until the slowest refusal
  unsigned refused = 0;
};

class Service {
 public:
  explicit Service(const QueueOptions& queue) {
    rig_.rules.limits.concurrency = Concurrency::kGradient;
    rig_.rules.queue = queue;
    rig_.publish();
  }

  Outcome offer(double rate, base::Duration length) {
    for (base::TimePoint now = at(0s); now < at(length); now += exponential(1 / rate)) {
      go_on(now);
      all_.push_back(std::make_unique<Request>());
      all_.back()->came = now;
      act(*all_.back(), all_.back()->rules.begin(policy_, {}, rig_.place(), now), now);
    }
    for (auto& one : all_) {
      one->rules.leave_queue();
      one->rules.give_up(0);
    }
    std::sort(took_.begin(), took_.end());
    out_.goodput = static_cast<double>(took_.size()) / base::seconds(length);
    out_.p99 = took_[took_.size() * 99 / 100];
    return out_;
  }

 private:
  static constexpr unsigned kServers = 8;
  static constexpr double kMean = 0.050;
  struct Request {
    Exchange rules;
    base::TimePoint came{};
  };
  struct Job {
    base::TimePoint done;
    Request* whose;
    bool operator>(const Job& other) const { return done > other.done; }
  };

  base::Duration exponential(double mean) {
    return base::from_seconds(-mean * std::log(1 - rig_.rng.unit()));
  }
  // Everything that happens until `now`, in order.
  void go_on(base::TimePoint now) {
    for (;;) {
      auto* const first = static_cast<Exchange*>(rig_.state().queue.first());
      const auto due = first != nullptr ? first->deadline() : base::TimePoint::max();
      const auto done = busy_.empty() ? base::TimePoint::max() : busy_.top().done;
      if (std::min(due, done) > now) return;
      if (due < done) {
        const auto whose = std::find_if(all_.rbegin(), all_.rend(),
                                        [&](const auto& one) { return &one->rules == first; });
        act(**whose, first->on_time(Stall::kNode, rig_.place(), due), due);
        continue;
      }
      Request& request = *busy_.top().whose;
      busy_.pop();
      (void)request.rules.head(0, 200, {}, rig_.place(), done);
      request.rules.finished(0);
      took_.push_back(base::seconds(done - request.came));
      serve(done);
      wake(done);
    }
  }
  void wake(base::TimePoint now) {
    while (auto* const first = static_cast<Exchange*>(rig_.state().queue.first())) {
      const auto whose = std::find_if(all_.rbegin(), all_.rend(),
                                      [&](const auto& one) { return &one->rules == first; });
      const Step step = first->wake(rig_.place(), now);
      if (first->waiting()) return;
      act(**whose, step, now);
    }
  }
  void act(Request& request, const Step& step, base::TimePoint now) {
    if (step.kind == Step::Kind::kAnswer) {
      ++out_.refused;
      out_.longest_no = std::max(out_.longest_no, base::seconds(now - request.came));
    } else if (step.kind == Step::Kind::kTry) {
      request.rules.connected(0, now);
      request.rules.sent(0, now);
      line_.push_back(&request);
      serve(now);
    }
  }
  void serve(base::TimePoint now) {
    while (!line_.empty() && busy_.size() < kServers) {
      busy_.push({now + exponential(kMean), line_.front()});
      line_.pop_front();
    }
  }

  Rig rig_{1};
  const Policy policy_{.timeouts = {.head = 60s}, .retry = {}, .hedge = {}};
  std::vector<std::unique_ptr<Request>> all_;
  std::deque<Request*> line_;  // at the node
  std::priority_queue<Job, std::vector<Job>, std::greater<>> busy_;
  std::vector<double> took_;
  Outcome out_;
};

constexpr double kCapacity = 8 / 0.050;

TEST(Gradient, KeepsGoodputAndLatencyAtTwiceTheCapacity) {
  const Outcome half = Service({.size = 0}).offer(kCapacity / 2, 120s);
  EXPECT_EQ(half.refused, 0U);
  EXPECT_NEAR(half.goodput, kCapacity / 2, 4);
  const Outcome twice = Service({.size = 0}).offer(2 * kCapacity, 120s);
  EXPECT_GE(twice.goodput, 0.9 * kCapacity);
  EXPECT_LE(twice.p99, 3 * half.p99);
  EXPECT_GT(twice.refused, 0U);
}

TEST(Gradient, WithAQueueRefusalsStayFastAtThreeTimesTheCapacity) {
  const Outcome half = Service({}).offer(kCapacity / 2, 60s);
  EXPECT_EQ(half.refused, 0U);
  const Outcome thrice = Service({}).offer(3 * kCapacity, 60s);
  EXPECT_GE(thrice.goodput, 0.9 * kCapacity);
  EXPECT_LE(thrice.p99, 3 * half.p99);
  EXPECT_LT(thrice.longest_no, 0.050);
  EXPECT_GT(thrice.refused, 0U);
}

}  // namespace
}  // namespace steelyard::request
