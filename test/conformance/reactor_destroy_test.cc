// Destroying handles at every step (R2): a scripted exchange is run again and again, and at its
// k-th callback some handles are destroyed. Whatever is destroyed stays silent, the rest goes on,
// and in the end nothing is left over. Under ASan freed handles are poisoned; the simulated back
// end also guards every buffer with canaries.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "test/conformance/reactor_rig.h"

namespace steelyard::io::conformance {
namespace {

enum class Part : std::uint8_t { kListener, kServer, kClient, kRefused, kTimer };
constexpr std::size_t kParts = 5;
enum class Victim : std::uint8_t { kOwn, kOthers, kAll, kOne };

// A client sends to an echoing server, both end; a connect is refused, a timer ticks, the listener
// stops.
class Exchange {
 public:
  Exchange(Rig& rig, int step, Victim victim, std::size_t which)
      : rig_(rig), step_(step), victim_(victim), which_(which) {
    socket_ = rig.listener(at_);
    listener_ = rig.reactor().listen(socket_, accept_);
    listener_->grant(3);
    client_.stream = rig.reactor().connect(at_, {}, client_);
    client_.stream->grant(100000);
    refused_.stream = rig.reactor().connect(rig.refusing(), {}, refused_);
    timer_ = rig.reactor().timer(tick_);
    timer_->at(rig.reactor().now());
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void run() {
    for (int turn = 0; turn < 400 && !over(); ++turn) {
      rig_.reactor().run_turn(rig_.reactor().now() + 1ms);
    }
  }
  void destroy_all() {
    for (std::size_t i = 0; i < kParts; ++i) destroy(static_cast<Part>(i));
  }
  [[nodiscard]] int steps() const { return count_; }
  [[nodiscard]] bool spoke_after_death() const { return spoke_after_death_; }
  [[nodiscard]] bool echoed() const { return client_.got == 30000 && client_.over; }

 private:
  struct Side final : StreamEvents {
    Side(Exchange& e, Part p) : exchange(e), part(p) {}
    void on_open(const PeerInfo&) noexcept override {
      if (!exchange.arrive(part)) return;
      if (part == Part::kServer) stream->grant(100000);
      for (int i = 0; part == Part::kClient && i < 3; ++i) {
        Slab slab = exchange.rig_.reactor().slab(10000);
        std::fill_n(slab.text(), 10000, 'e');
        stream->write(std::move(slab).take(10000));
      }
      if (part == Part::kClient) stream->end_write();
    }
    void on_bytes(Buf bytes) noexcept override {
      got += bytes.size();
      if (exchange.arrive(part) && part == Part::kServer) stream->write(std::move(bytes));
    }
    void on_end() noexcept override {
      over = true;
      if (exchange.arrive(part) && part == Part::kServer) stream->end_write();
    }
    void on_sent(std::size_t) noexcept override { exchange.arrive(part); }
    void on_failed(Error) noexcept override {
      over = true;
      exchange.arrive(part);
    }
    Exchange& exchange;
    Part part;
    std::unique_ptr<Stream> stream;
    std::size_t got = 0;
    bool over = false;
  };
  struct Accept final : AcceptEvents {
    explicit Accept(Exchange& e) : exchange(e) {}
    void on_accept(Fd fd, const Address&) noexcept override {
      if (!exchange.arrive(Part::kListener) || exchange.server_seen_) return;
      exchange.server_seen_ = true;
      exchange.server_.stream = exchange.rig_.reactor().adopt(std::move(fd), exchange.server_);
      exchange.listener_->stop();
    }
    void on_stopped() noexcept override {
      stopped = true;
      exchange.arrive(Part::kListener);
    }
    Exchange& exchange;
    bool stopped = false;
  };
  struct Tick final : TimerEvents {
    explicit Tick(Exchange& e) : exchange(e) {}
    void on_time() noexcept override {
      if (exchange.arrive(Part::kTimer) && ++ticks < 4)
        exchange.timer_->at(exchange.rig_.reactor().now());
    }
    Exchange& exchange;
    int ticks = 0;
  };

  // A callback of `part` begins; false when the part is gone afterwards.
  bool arrive(Part part) {
    if (dead_[static_cast<std::size_t>(part)]) spoke_after_death_ = true;
    if (count_++ == step_) {
      for (std::size_t i = 0; i < kParts; ++i) {
        const bool own = i == static_cast<std::size_t>(part);
        const bool hit = victim_ == Victim::kAll || (victim_ == Victim::kOwn && own) ||
                         (victim_ == Victim::kOthers && !own) ||
                         (victim_ == Victim::kOne && i == which_);
        if (hit) destroy(static_cast<Part>(i));
      }
    }
    return !dead_[static_cast<std::size_t>(part)];
  }
  void destroy(Part part) {
    dead_[static_cast<std::size_t>(part)] = true;
    switch (part) {
      case Part::kListener:
        listener_.reset();
        break;
      case Part::kServer:
        server_.stream.reset();
        server_seen_ = true;
        break;
      case Part::kClient:
        client_.stream.reset();
        break;
      case Part::kRefused:
        refused_.stream.reset();
        break;
      case Part::kTimer:
        timer_.reset();
        break;
    }
  }
  [[nodiscard]] bool gone(Part part) const { return dead_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] bool over() const {
    return (client_.over || gone(Part::kClient)) && (server_.over || gone(Part::kServer)) &&
           (accept_.stopped || gone(Part::kListener)) && (refused_.over || gone(Part::kRefused)) &&
           (tick_.ticks >= 4 || gone(Part::kTimer));
  }

  Rig& rig_;
  int step_;
  Victim victim_;
  std::size_t which_;
  int count_ = 0;
  bool spoke_after_death_ = false;
  bool server_seen_ = false;
  std::array<bool, kParts> dead_{};
  Address at_;
  Fd socket_;
  Accept accept_{*this};
  Side server_{*this, Part::kServer};
  Side client_{*this, Part::kClient};
  Side refused_{*this, Part::kRefused};
  Tick tick_{*this};
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Timer> timer_;
};

void expect_nothing_left(Rig& rig) {
  const ReactorStats stats = rig.reactor().stats();
  EXPECT_EQ(stats.streams, 0U);
  EXPECT_EQ(stats.listeners, 0U);
  EXPECT_EQ(stats.timers, 0U);
  EXPECT_EQ(stats.slab_bytes, 0U);
  EXPECT_EQ(stats.receive_bytes, 0U);
  EXPECT_EQ(rig.outstanding(), 0U);
}

class ReactorDestroy : public testing::TestWithParam<Backend> {};

INSTANTIATE_TEST_SUITE_P(Backends, ReactorDestroy, testing::ValuesIn(backends()),
                         [](const auto& row) { return row.param.name; });

TEST_P(ReactorDestroy, TheExchangeItselfEchoes) {
  const auto rig = GetParam().make();
  Exchange exchange(*rig, -1, Victim::kOwn, 0);
  exchange.run();
  EXPECT_TRUE(exchange.echoed());
  exchange.destroy_all();
  rig->settle();
  expect_nothing_left(*rig);
}

TEST_P(ReactorDestroy, AnyHandleMayBeDestroyedAtAnyStep) {
  const auto rig = GetParam().make();
  const auto run = [&](int step, Victim victim, std::size_t which) {
    Exchange exchange(*rig, step, victim, which);
    exchange.run();
    const bool reached = exchange.steps() > step;
    exchange.destroy_all();
    rig->reactor().run_turn(rig->reactor().now());
    rig->reactor().run_turn(rig->reactor().now());
    EXPECT_FALSE(exchange.spoke_after_death());
    return reached;
  };
  int steps = 0;
  while (steps < 200 && run(steps, Victim::kOwn, 0)) {
    run(steps, Victim::kOthers, 0);
    run(steps, Victim::kAll, 0);
    for (std::size_t which = 0; which < kParts; ++which) run(steps, Victim::kOne, which);
    ++steps;
  }
  EXPECT_GT(steps, 10);
  rig->settle();
  expect_nothing_left(*rig);
}

TEST_P(ReactorDestroy, AReactorMayDieWithOperationsOutstanding) {
  for (int turns = 0; turns < 12; ++turns) {
    const auto rig = GetParam().make();
    {
      Exchange exchange(*rig, -1, Victim::kOwn, 0);
      for (int i = 0; i < turns; ++i) rig->reactor().run_turn(rig->reactor().now() + 20us);
      exchange.destroy_all();
      EXPECT_EQ(rig->reactor().stats().streams, 0U);
    }
  }
}

}  // namespace
}  // namespace steelyard::io::conformance
