#include "test/rigs/lib/crowd.h"

#include <algorithm>
#include <sys/socket.h>
#include <thread>

namespace steelyard::rigs {
namespace {

Time in(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Span>(std::chrono::duration<double>(seconds));
}

constexpr auto kSip = std::chrono::milliseconds(250);

}  // namespace

Crowd::Crowd(CrowdOptions options) : options_(std::move(options)) {
  start();
  if (!options_.drip.empty()) loop_.after(std::chrono::milliseconds(100), [this] { drip(); });
  if (options_.sip) loop_.after(kSip, [this] { sip(); });
}

Crowd::~Crowd() { close(); }

// A few hundred connects at a time, so that no queue of pending ones overflows.
void Crowd::start() {
  constexpr std::size_t kAtOnce = 200;
  const auto pending = [&] { return members_.size() - opened_; };
  auto most = options_.connections;
  if (options_.per_second > 0) {
    const std::chrono::duration<double> age = Clock::now() - began_;
    most = std::min(most, static_cast<std::size_t>(options_.per_second * age.count()) + 1);
  }
  while (members_.size() < most && pending() < kAtOnce) {
    auto& member = *members_.emplace_back(std::make_unique<Member>());
    const auto index = members_.size();
    const auto source = static_cast<int>(index % static_cast<std::size_t>(options_.sources)) + 1;
    member.wire = Wire::dial(loop_, options_.to,
                             options_.sources > 1 ? "127.0.0." + std::to_string(source) : "");
    member.wire->on.connected = [this, &member] { connected(member); };
    member.wire->on.bytes = [this, &member](std::string_view bytes) {
      if (options_.sip) member.wire->read_on(false);
      (void)member.reader.feed(bytes);
    };
    member.wire->on.end = [&member](int) { member.wire->close(); };
    member.wire->on.drained = [this, &member] { pour(member); };
    member.reader.on_end = [this] {
      took_us_.push_back(
          std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - sent_).count());
    };
  }
  if (members_.size() < options_.connections) {
    loop_.after(std::chrono::milliseconds(2), [this] { start(); });
  }
}

void Crowd::connected(Member& member) {
  ++opened_;
  member.connected = true;
  if (options_.deaf || options_.sip) {
    const int small = 4096;
    (void)::setsockopt(member.wire->fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    member.wire->read_on(options_.sip);
  }
  if (!options_.request.empty() && (options_.deaf || options_.sip || !options_.pour.empty())) {
    member.wire->send(options_.request);
  }
}

void Crowd::pour(Member& member) {
  if (options_.pour.empty() || !member.connected) return;
  // Not at once: `send` calls `drained` when the kernel took all.
  loop_.after(options_.pour_gap, [this, &member] {
    if (!member.wire->open() || member.wire->queued() > 0) return;
    if (member.poured >= options_.pour_most) return;
    member.poured += options_.pour.size();
    poured_ += options_.pour.size();
    member.wire->send(options_.pour);
  });
}

void Crowd::drip() {
  for (auto& member : members_) {
    if (!member->connected || !member->wire->open()) continue;
    const auto at = member->dripped++ % options_.drip.size();
    member->wire->send(std::string_view(options_.drip).substr(at, 1));
  }
  loop_.after(std::chrono::milliseconds(100), [this] { drip(); });
}

void Crowd::sip() {
  for (auto& member : members_) {
    if (member->connected && member->wire->open()) member->wire->read_on(true);
  }
  loop_.after(kSip, [this] { sip(); });
}

bool Crowd::open_all(double most_s) {
  const auto end = in(most_s);
  while (opened_ < options_.connections && Clock::now() < end) loop_.run_until(in(0.05));
  return opened_ == options_.connections;
}

void Crowd::run(double seconds) { loop_.run_until(in(seconds)); }

void Crowd::send_all() {
  sent_ = Clock::now();
  for (auto& member : members_) {
    member->reader.expect();
    member->wire->send(options_.request);
  }
}

void Crowd::send_some(std::size_t first, std::size_t count) {
  took_us_.clear();
  sent_ = Clock::now();
  for (auto at = first; at < std::min(first + count, members_.size()); ++at) {
    members_[at]->reader.expect();
    members_[at]->wire->send(options_.request);
  }
}

bool Crowd::run_until_answered(double most_s) { return run_until_answers(opened_, most_s); }

bool Crowd::run_until_answers(std::size_t count, double most_s) {
  const auto end = in(most_s);
  while (took_us_.size() < count && Clock::now() < end) {
    loop_.run_until(Clock::now() + std::chrono::milliseconds(1));
  }
  return took_us_.size() == count;
}

void Crowd::close() {
  for (auto& member : members_) member->wire->close();
}

std::size_t Crowd::open_now() const {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(),
                    [](const auto& member) { return member->connected && member->wire->open(); }));
}

double Crowd::quantile_ms(double q) {
  if (took_us_.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(took_us_.size() - 1));
  std::nth_element(took_us_.begin(), took_us_.begin() + at, took_us_.end());
  return static_cast<double>(took_us_[static_cast<std::size_t>(at)]) / 1e3;
}

void run_together(const std::vector<Crowd*>& crowds, double seconds) {
  std::vector<std::jthread> threads;
  for (Crowd* const crowd : crowds) threads.emplace_back([=] { crowd->run(seconds); });
}

}  // namespace steelyard::rigs
