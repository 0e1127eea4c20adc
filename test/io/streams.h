// Streams that tests of the kernel's reactors share, and the back ends that this kernel has.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "steelyard/io/backend.h"
#include "steelyard/io/clock.h"
#include "steelyard/io/reactor.h"

namespace steelyard::io {

using namespace std::chrono_literals;

inline std::vector<Backend> usable_backends() {
  std::vector<Backend> out{Backend::kEpoll};
  if (probe_uring().usable) out.push_back(Backend::kUring);
  return out;
}

// Tests only: a broken environment ends the test program.
inline std::unique_ptr<Reactor> of(Backend backend) {
  auto made = make_reactor(choose_backend(backend).value());
  if (!made) throw std::runtime_error(made.error().describe());
  return std::move(*made);
}

struct Quiet : StreamEvents {
  void on_open(const PeerInfo&) noexcept override { opened = true; }
  void on_bytes(Buf) noexcept override {}
  void on_end() noexcept override { ended = true; }
  void on_sent(std::size_t) noexcept override {}
  void on_failed(Error) noexcept override { failed = true; }
  std::unique_ptr<Stream> stream;
  bool opened = false;
  bool ended = false;
  bool failed = false;
};

// Sends back what it gets; one buffer of credit at a time.
struct Echo final : Quiet {
  void on_open(const PeerInfo&) noexcept override {
    opened = true;
    stream->grant(16384);
  }
  void on_bytes(Buf bytes) noexcept override {
    const std::size_t size = bytes.size();
    stream->write(std::move(bytes));
    stream->grant(size);
  }
  void on_end() noexcept override { stream->end_write(); }
};

struct Client final : Quiet {
  explicit Client(Reactor& r) : reactor(r) {}
  void on_open(const PeerInfo&) noexcept override {
    stream->grant(1 << 20);
    ask();
  }
  void on_bytes(Buf bytes) noexcept override {
    got += bytes.size();
    if (got < kMessage) return;
    got = 0;
    ++answers;
    ask();
  }
  void ask() {
    Slab slab = reactor.slab(kMessage);
    std::fill_n(slab.text(), kMessage, 'q');
    stream->write(std::move(slab).take(kMessage));
  }
  static constexpr std::size_t kMessage = 300;
  Reactor& reactor;
  std::size_t got = 0;
  int answers = 0;
};

struct Accept final : AcceptEvents {
  void on_accept(Fd fd, const Address&) noexcept override { then(std::move(fd)); }
  void on_stopped() noexcept override {}
  std::function<void(Fd)> then;
};

inline bool turn_until(Reactor& reactor, const std::function<bool()>& done) {
  const TimePoint give_up = steady_now() + 20s;
  while (!done() && steady_now() < give_up) reactor.run_turn(steady_now() + 5ms);
  return done();
}

}  // namespace steelyard::io
