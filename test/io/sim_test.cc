#include "steelyard/io/sim.h"

#include <gtest/gtest.h>
#include <string>

namespace steelyard::io {
namespace {

using namespace std::chrono_literals;

struct Log final : StreamEvents {
  void on_open(const PeerInfo&) noexcept override { text += "open "; }
  void on_bytes(Buf bytes) noexcept override { text += std::to_string(bytes.size()) + " "; }
  void on_end() noexcept override { text += "end "; }
  void on_sent(std::size_t bytes) noexcept override {
    text += "sent" + std::to_string(bytes) + " ";
  }
  void on_failed(Error) noexcept override { text += "failed "; }
  std::string text;
  std::unique_ptr<Stream> stream;
};

std::string run_once(std::uint64_t seed) {
  const auto reactor = make_sim_reactor({.seed = seed});
  auto [one, two] = reactor->pair();
  Log a;
  Log b;
  a.stream = reactor->adopt(std::move(one), a);
  b.stream = reactor->adopt(std::move(two), b);
  a.stream->grant(1 << 20);
  b.stream->grant(1 << 20);
  a.stream->write(Buf::heap_copy(std::string(50000, 'a')));
  b.stream->write(Buf::heap_copy(std::string(50000, 'b')));
  a.stream->end_write();
  b.stream->end_write();
  for (int i = 0; i < 2000; ++i) reactor->run_turn(reactor->now() + 1ms);
  return a.text + "| " + b.text + std::to_string(reactor->now().time_since_epoch().count());
}

TEST(SimReactor, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(run_once(4), run_once(4));
  EXPECT_NE(run_once(4), run_once(5));
}

TEST(SimReactor, TimeJumpsToTheNextEventAtMostToUntil) {
  const auto reactor = make_sim_reactor();
  struct Time final : TimerEvents {
    void on_time() noexcept override { rung = true; }
    bool rung = false;
  } time;
  const auto timer = reactor->timer(time);
  const TimePoint start = reactor->now();
  timer->at(start + 1h);
  reactor->run_turn(start + 10min);
  EXPECT_EQ(reactor->now(), start + 10min);
  EXPECT_FALSE(time.rung);
  reactor->run_turn(start + 48h);
  EXPECT_EQ(reactor->now(), start + 1h);
  EXPECT_TRUE(time.rung);
}

TEST(SimReactor, AnAcceptedSocketThatIsDroppedResetsItsPeer) {
  const auto reactor = make_sim_reactor();
  struct Drop final : AcceptEvents {
    void on_accept(Fd, const Address&) noexcept override { ++accepted; }
    void on_stopped() noexcept override {}
    int accepted = 0;
  } drop;
  const Fd socket = reactor->listener(Address::loopback(80));
  const auto listener = reactor->listen(socket, drop);
  listener->grant(1);
  const auto client = reactor->dial(Address::loopback(80));
  ASSERT_NE(client, nullptr);
  for (int i = 0; i < 100; ++i) reactor->run_turn(reactor->now() + 1ms);
  EXPECT_EQ(drop.accepted, 1);
  EXPECT_TRUE(client->ended() || client->was_reset());
  EXPECT_EQ(reactor->dial(Address::loopback(81)), nullptr);
}

TEST(SimReactor, AnOperationOutlivesItsHandle) {
  const auto reactor = make_sim_reactor();
  auto [one, two] = reactor->pair();
  Log log;
  log.stream = reactor->adopt(std::move(one), log);
  const auto far = reactor->peer(std::move(two));
  while (log.text.empty()) reactor->run_turn(reactor->now() + 1ms);
  EXPECT_GT(reactor->outstanding(), 0U);
  log.stream.reset();
  EXPECT_GT(reactor->outstanding(), 0U);
  for (int i = 0; i < 20; ++i) reactor->run_turn(reactor->now() + 1ms);
  EXPECT_EQ(reactor->outstanding(), 0U);
  EXPECT_EQ(log.text, "open ");
}

TEST(SimReactor, ReportsWatchesOnRequest) {
  const auto reactor = make_sim_reactor();
  struct Ready final : WatchEvents {
    void on_ready() noexcept override { ++times; }
    int times = 0;
  } ready;
  const auto [one, two] = reactor->pair();
  auto watch = reactor->watch(one, ready);
  reactor->make_ready(one);
  reactor->make_ready(two);
  EXPECT_EQ(ready.times, 0);
  for (int i = 0; i < 5; ++i) reactor->run_turn(reactor->now() + 1ms);
  EXPECT_EQ(ready.times, 1);
  reactor->make_ready(one);
  watch.reset();
  for (int i = 0; i < 5; ++i) reactor->run_turn(reactor->now() + 1ms);
  EXPECT_EQ(ready.times, 1);
}

TEST(SimReactorDeathTest, AByteBeyondABufferEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto reactor = make_sim_reactor();
        Slab slab = reactor->slab(100);
        volatile char* const beyond = slab.text() + 100;
        *beyond = 'x';
      },
      "outside its bounds");
}

}  // namespace
}  // namespace steelyard::io
