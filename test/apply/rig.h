// Drivers on a real reactor, with a stand-in for Nginx that the test can make misbehave.
#pragma once

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "steelyard/apply/drivers.h"
#include "steelyard/io/epoll.h"
#include "steelyard/model/table.h"

#include "test/apply/stub_nginx.h"

namespace steelyard::apply {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Log final : Events {
  void on_event(const Event& event) noexcept override { list.push_back(event); }
  [[nodiscard]] long count(std::string_view what) const {
    return std::count_if(list.begin(), list.end(), [&](const Event& e) { return e.what == what; });
  }
  std::vector<Event> list;
};

inline model::TableUpstream upstream(const std::string& name, double a, double b = 100) {
  model::TableUpstream out{.name = name, .nodes = {}, .panic = false};
  out.nodes.push_back({.name = "a", .address = base::Address::loopback(8081), .weight = a});
  out.nodes.push_back({.name = "b", .address = base::Address::loopback(8082), .weight = b});
  return out;
}

inline model::Table table(std::uint64_t number, std::vector<model::TableUpstream> upstreams) {
  return {.number = number, .upstreams = std::move(upstreams)};
}

class Rig {
 public:
  explicit Rig(bool start = true) {
    if (start) stub.start();
  }

  StubNginx stub;
  std::unique_ptr<io::Reactor> reactor = io::make_epoll_reactor();
  Log log;
  Drivers drivers{*reactor, log};

  [[nodiscard]] NginxOptions options(const std::string& name = "api") const {
    NginxOptions out;
    out.file = stub.file(name);
    out.test = {stub.command(), "-t"};
    out.reload = {stub.command(), "-s", "reload"};
    out.pid = stub.pid_file();
    out.gap = milliseconds(100);
    out.test_timeout = seconds(20);  // generous: the machine may be busy
    out.verify_timeout = seconds(8);
    out.watch = milliseconds(200);
    return out;
  }
  void configure(const std::vector<std::string>& names) {
    std::vector<Drivers::Target> targets;
    for (const auto& name : names) targets.push_back({name, {.nginx = options(name)}});
    const auto done = drivers.configure(targets);
    ASSERT_TRUE(done) << done.error().text;
  }
  Status status(const std::string& name = "api") { return drivers.find(name)->status(); }
  [[nodiscard]] bool until(const std::function<bool()>& done, base::Duration most = seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      reactor->run_turn(reactor->now() + milliseconds(5));
    }
    return true;
  }
  void spend(base::Duration time) {
    (void)until([] { return false; }, time);
  }
  // Applied, verified and committed.
  [[nodiscard]] bool settles(const std::string& name = "api") {
    return until([&] {
      const Status s = status(name);
      return s.state == State::kApplied && s.applied_table == s.wanted_table;
    });
  }
};

}  // namespace steelyard::apply
