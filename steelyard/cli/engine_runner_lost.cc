// EngineRunner's part when the supervisor is gone or another engine serves: which of the engines
// goes on, and how this one ends.
#include <chrono>
#include <string>
#include <utility>

#include "steelyard/cli/engine_runner.h"

namespace steelyard::cli {
namespace {

constexpr auto kHoldingGap = std::chrono::seconds(1);

}  // namespace

// With the lease this engine is the only one, and goes on. Without it another one is about to
// serve, or does already: which of them goes on is seen by who can take the lease.
void EngineRunner::on_lost() {
  lost_ = remote_->lost();
  unsettled_ = lost_ && !engine_.leased() && !stopping_;
  if (!lost_) {
    return log_.event("supervisor_found", {{"text", "a new supervisor takes over"}});
  }
  if (passed_over_ != 0 && reactor_.now() - passed_over_at_ < kSameSignal) {
    on_signal(std::exchange(passed_over_, 0));  // it was gone already
  }
  if (engine_.leased() && !stopping_) return serve_alone();
  log_.event("supervisor_lost",
             {{"text", stopping_ ? "this engine drains and ends"
                                 : "this engine had given the lease to a new one; it goes on until "
                                   "that one serves, or in its place"}});
}

// Looked at every few milliseconds, so that one of the two has the lease soon.
void EngineRunner::settle_lease() {
  if (remote_->take_lease()) {
    unsettled_ = false;
    log_.event("lease_back", {{"text", "no other engine has it; this engine goes on"}});
    engine_.take_back();
    return serve_alone();
  }
  if (!remote_->another_serves()) return;
  unsettled_ = false;
  std::vector<base::Address> all;
  for (const auto& listener : document_->listeners) all.push_back(listener.address);
  hand_over(all);
}

// A socket that the others close must not stay open through us: clients would wait.
void EngineRunner::hand_over(const std::vector<base::Address>& theirs) {
  stopping_ = true;
  log_.event("handed_over", {{"text", "a new engine serves; this one drains"}});
  engine_.hand_over(theirs, document_->proxy.drain.idle, document_->proxy.drain.limit);
  remote_->let_go();
}

void EngineRunner::tell_holding() {
  const auto now = reactor_.now();
  if (now < next_holding_ || engine_.leased()) return;
  next_holding_ = now + kHoldingGap;
  remote_->tell_holding(engine_.holding());
}

void EngineRunner::serve_alone() {
  const auto trouble = stopping_ ? std::string() : remote_->let_be_found();
  log_.event("supervisor_lost",
             {{"text",
               "this engine serves on with its sockets; it is not restarted when it crashes. "
               "Start steelyard run again: it takes over"},
              {"trouble", trouble.empty() ? "none" : trouble}});
}

}  // namespace steelyard::cli
