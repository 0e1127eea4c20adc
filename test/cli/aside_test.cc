#include "steelyard/cli/aside.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "steelyard/io/epoll.h"

namespace steelyard::cli {
namespace {

using namespace std::chrono_literals;

TEST(Aside, TheOutcomeOfAJobComesBackToItsReactor) {
  const auto reactor = io::make_epoll_reactor();
  Aside aside(*reactor);
  std::atomic<bool> go{false};
  std::thread::id worked;
  bool done = false;
  ASSERT_TRUE(aside.run([&] {
    go.wait(false);
    return [&, by = std::this_thread::get_id()] {
      worked = by;
      done = true;
      EXPECT_FALSE(aside.busy());  // the next may begin here
    };
  }));
  reactor->run_turn(reactor->now());
  EXPECT_TRUE(aside.busy());  // it waits for nobody, and nobody for it
  EXPECT_FALSE(done);
  go = true;
  go.notify_one();
  const auto deadline = reactor->now() + 10s;
  while (!done && reactor->now() < deadline) reactor->run_turn(deadline);
  EXPECT_TRUE(done);
  EXPECT_NE(worked, std::this_thread::get_id());
  EXPECT_FALSE(aside.busy());
}

TEST(Aside, WhatComesTooLateIsDropped) {
  const auto reactor = io::make_epoll_reactor();
  bool done = false;
  {
    Aside aside(*reactor);
    ASSERT_TRUE(aside.run([&done] { return [&done] { done = true; }; }));
  }
  reactor->run_turn(reactor->now());
  EXPECT_FALSE(done);
}

}  // namespace
}  // namespace steelyard::cli
