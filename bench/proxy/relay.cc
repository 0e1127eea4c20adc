// The floor of the proxy benchmark: what the kernel and our reactor cost when nobody looks at the
// bytes. Each client connection gets one connection to a node (in turn), and bytes go across.
//
//   relay epoll|uring PORT NODE_PORT...      status 3: no such back end here
//
// A side is read while less than kWindow of its bytes wait on the other side.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "steelyard/io/epoll.h"
#include "steelyard/io/process.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/uring.h"

namespace {

namespace io = steelyard::io;
namespace base = steelyard::base;

// Measured: at 1 MiB, 64 KiB cost 1.2 times as much.
constexpr std::size_t kWindow = std::size_t{256} << 10;

class Pair {
 public:
  Pair(io::Reactor& reactor, io::Fd client, const base::Address& node) {
    client_.other = &node_;
    node_.other = &client_;
    client_.pair = node_.pair = this;
    client_.stream = reactor.adopt(std::move(client), client_);
    node_.stream = reactor.connect(node, {}, node_);
    client_.stream->grant(kWindow);
    node_.stream->grant(kWindow);
  }
  [[nodiscard]] bool over() const { return over_ || (client_.ended && node_.ended); }

 private:
  struct Side final : io::StreamEvents {
    void on_open(const io::PeerInfo& /*peer*/) noexcept override {}
    void on_bytes(io::Buf bytes) noexcept override { other->stream->write(std::move(bytes)); }
    void on_sent(std::size_t bytes) noexcept override { other->stream->grant(bytes); }
    void on_end() noexcept override {
      ended = true;
      other->stream->end_write();
    }
    void on_failed(base::Error /*error*/) noexcept override { pair->over_ = true; }

    Pair* pair = nullptr;
    Side* other = nullptr;
    bool ended = false;
    std::unique_ptr<io::Stream> stream;
  };

  Side client_;
  Side node_;
  bool over_ = false;
};

class Relay final : public io::AcceptEvents {
 public:
  Relay(io::Reactor& reactor, const io::Fd& socket, std::vector<base::Address> nodes)
      : reactor_(reactor), nodes_(std::move(nodes)), listener_(reactor.listen(socket, *this)) {
    listener_->grant(kAccepts);
  }
  [[noreturn]] void run() {
    for (;;) {
      reactor_.run_turn(reactor_.now() + std::chrono::milliseconds(100));
      if (++turns_ % 64 == 0) std::erase_if(pairs_, [](const auto& pair) { return pair->over(); });
    }
  }
  void on_accept(io::Fd socket, const base::Address& /*peer*/) noexcept override {
    pairs_.push_back(
        std::make_unique<Pair>(reactor_, std::move(socket), nodes_[next_++ % nodes_.size()]));
    listener_->grant(1);
  }
  void on_stopped() noexcept override {}

 private:
  static constexpr unsigned kAccepts = 64;

  io::Reactor& reactor_;
  std::vector<base::Address> nodes_;
  std::size_t next_ = 0;
  std::size_t turns_ = 0;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::unique_ptr<io::Listener> listener_;
};

std::unique_ptr<io::Reactor> reactor_of(std::string_view name) {
  if (name == "epoll") return io::make_epoll_reactor();
  if (name != "uring") return nullptr;
  auto made = io::make_uring_reactor();
  if (made) return std::move(made).value();
  std::fprintf(stderr, "relay: %s\n", made.error().describe().c_str());
  return nullptr;
}

base::Address loopback(const char* port) {
  return base::Address::loopback(static_cast<std::uint16_t>(std::atoi(port)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: relay epoll|uring PORT NODE_PORT...\n");
    return 2;
  }
  const auto reactor = reactor_of(argv[1]);
  if (reactor == nullptr) {
    std::fprintf(stderr, "relay: no back end %s\n", argv[1]);
    return 3;
  }
  (void)io::raise_descriptor_limit();
  const auto socket = io::listen_tcp(loopback(argv[2]));
  if (!socket) {
    std::fprintf(stderr, "relay: %s\n", socket.error().describe().c_str());
    return 1;
  }
  std::vector<base::Address> nodes;
  for (int i = 3; i < argc; ++i) nodes.push_back(loopback(argv[i]));
  Relay(*reactor, socket.value(), std::move(nodes)).run();
}
