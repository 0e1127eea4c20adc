#include "test/conformance/reactor_rig.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "steelyard/base/rng.h"
#include "steelyard/io/clock.h"
#include "steelyard/io/sockaddr.h"
#include "steelyard/io/socket.h"

namespace steelyard::io::conformance {

namespace {

// Tests only: a broken environment ends the test program.
template <typename T>
T must(base::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().describe());
  return std::move(*result);
}

class KernelRaw final : public Raw {
 public:
  explicit KernelRaw(Fd fd) : fd_(std::move(fd)) {}
  std::size_t send(std::string_view text) override {
    const ssize_t n = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  void end() override { ::shutdown(fd_.get(), SHUT_WR); }
  void reset() override {
    const linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.reset();
  }
  std::string read(std::size_t most) override {
    std::string out(most, '\0');
    const ssize_t n = ::recv(fd_.get(), out.data(), out.size(), MSG_DONTWAIT);
    if (n < 0 && errno == ECONNRESET) reset_ = true;
    if (n == 0) ended_ = true;
    out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return out;
  }
  bool ended() override { return peek() || ended_; }
  bool was_reset() override {
    peek();
    return reset_;
  }

 private:
  bool peek() {
    char c = 0;
    const ssize_t n = ::recv(fd_.get(), &c, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && errno == ECONNRESET) reset_ = true;
    return n == 0;
  }
  Fd fd_;
  bool ended_ = false;
  bool reset_ = false;
};

Fd dial_kernel(const Address& to) {
  const SocketAddress at = to_kernel(to);
  Fd fd(::socket(at.at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(fd.get(), &at.at.any, at.size) != 0) throw std::runtime_error("dial");
  return fd;
}

// Kernel sockets under either back end.
class KernelRig final : public Rig {
 public:
  explicit KernelRig(std::unique_ptr<Reactor> reactor) : reactor_(std::move(reactor)) {}
  Reactor& reactor() override { return *reactor_; }
  std::pair<Fd, std::unique_ptr<Raw>> pair() override {
    const Fd listening = must(listen_tcp(Address::loopback(0)));
    Fd far = dial_kernel(must(local_address(listening)));
    pollfd ready{listening.get(), POLLIN, 0};
    ::poll(&ready, 1, 5000);
    Fd near(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    return {std::move(near), std::make_unique<KernelRaw>(std::move(far))};
  }
  Fd listener(Address& at) override {
    Fd fd = must(listen_tcp(Address::loopback(0)));
    at = must(local_address(fd));
    return fd;
  }
  std::unique_ptr<Raw> dial(const Address& to) override {
    return std::make_unique<KernelRaw>(dial_kernel(to));
  }
  Address refusing() override {
    // Bound, so that nobody else gets the port, but not listening.
    held_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const SocketAddress at = to_kernel(Address::loopback(0));
    if (::bind(held_.back().get(), &at.at.any, at.size) != 0) throw std::runtime_error("bind");
    return must(local_address(held_.back()));
  }
  Address silent() override {
    // A listening socket whose queue is full drops every SYN.
    held_.push_back(must(listen_tcp(Address::loopback(0), {.backlog = 0})));
    const Address at = must(local_address(held_.back()));
    const SocketAddress to = to_kernel(at);
    for (int i = 0; i < 4; ++i) {
      held_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      (void)::connect(held_.back().get(), &to.at.any, to.size);
    }
    return at;
  }
  std::size_t outstanding() override { return reactor_->stats().operations; }

 private:
  std::vector<Fd> held_;
  std::unique_ptr<Reactor> reactor_;
};

class SimRaw final : public Raw {
 public:
  explicit SimRaw(std::unique_ptr<SimPeer> peer) : peer_(std::move(peer)) {}
  std::size_t send(std::string_view text) override { return peer_->send(text); }
  void end() override { peer_->end(); }
  void reset() override { peer_->reset(); }
  std::string read(std::size_t most) override { return peer_->read(most); }
  bool ended() override { return peer_->ended(); }
  bool was_reset() override { return peer_->was_reset(); }

 private:
  std::unique_ptr<SimPeer> peer_;
};

class SimRig final : public Rig {
 public:
  explicit SimRig(std::uint64_t seed) : reactor_(make_sim_reactor({.seed = seed})) {}
  Reactor& reactor() override { return *reactor_; }
  std::pair<Fd, std::unique_ptr<Raw>> pair() override {
    auto [near, far] = reactor_->pair();
    return {std::move(near), std::make_unique<SimRaw>(reactor_->peer(std::move(far)))};
  }
  Fd listener(Address& at) override {
    Fd fd = reactor_->listener(Address::loopback(0));
    at = reactor_->address_of(fd);
    return fd;
  }
  std::unique_ptr<Raw> dial(const Address& to) override {
    return std::make_unique<SimRaw>(reactor_->dial(to));
  }
  Address refusing() override { return Address::loopback(9); }
  Address silent() override {
    reactor_->blackhole(Address::loopback(11));
    return Address::loopback(11);
  }
  std::size_t outstanding() override { return reactor_->outstanding(); }

 private:
  std::unique_ptr<SimReactor> reactor_;
};

}  // namespace

bool Rig::until(const std::function<bool()>& done) {
  const TimePoint give_up = reactor().now() + 20s;
  while (!done()) {
    if (reactor().now() >= give_up) return false;
    reactor().run_turn(reactor().now() + 2ms);
  }
  return true;
}

void Rig::settle() {
  const TimePoint end = reactor().now() + 10ms;
  while (reactor().now() < end) reactor().run_turn(end);
  reactor().run_turn(reactor().now());
}

std::unique_ptr<Rig> make_epoll_rig() { return std::make_unique<KernelRig>(make_epoll_reactor()); }
std::unique_ptr<Rig> make_uring_rig(const UringOptions& options) {
  return std::make_unique<KernelRig>(must(make_uring_reactor(options)));
}
std::unique_ptr<Rig> make_sim_rig(std::uint64_t seed) { return std::make_unique<SimRig>(seed); }

std::vector<Backend> backends() {
  std::vector<Backend> out{{"epoll", make_epoll_rig}};
  if (probe_uring().usable) {
    out.push_back({"uring", [] { return make_uring_rig({}); }});
    // Little of everything: rings that overflow, buffers that run out, kernels before 6.1.
    out.push_back({"uring_small", [] {
                     return make_uring_rig({.entries = 4,
                                            .completions = 8,
                                            .buffers = 2,
                                            .buffer = 4096,
                                            .wake = UringOptions::Wake::kCooperative});
                   }});
  }
  for (const std::uint64_t seed : {1U, 2U, 3U, 17U, 99U, 12345U}) {
    out.push_back(
        {"simulated_seed_" + std::to_string(seed), [seed] { return make_sim_rig(seed); }});
  }
  return out;
}

void Recorder::note(std::string what) {
  if (failed) after_failure = true;
  if (calls != nullptr && calls->inside()) reentered = true;
  if (log.empty() || log.back() != what) log.push_back(std::move(what));
}

void Recorder::on_open(const PeerInfo& info) noexcept {
  note("open");
  peer = info;
  opened = true;
  if (when_open) when_open();
}

void Recorder::on_bytes(Buf part) noexcept {
  note("bytes");
  bytes += part.text();
  if (bytes.size() > granted) over_credit = true;
  if (when_bytes) when_bytes();
}

void Recorder::on_end() noexcept {
  note("end");
  ended = true;
  if (when_end) when_end();
}

void Recorder::on_sent(std::size_t count) noexcept {
  if (failed) after_failure = true;
  if (calls != nullptr && calls->inside()) reentered = true;
  sent += count;
  if (when_sent) when_sent();
}

void Recorder::on_failed(Error why) noexcept {
  note("failed " + std::string(base::to_text(why.code)));
  failed = true;
  error = std::move(why);
}

std::string Recorder::history() const {
  std::string out;
  for (const auto& word : log) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string pattern(std::size_t size, std::uint64_t seed) {
  base::Rng rng(seed);
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('!' + rng.below(90));
  return out;
}

}  // namespace steelyard::io::conformance
