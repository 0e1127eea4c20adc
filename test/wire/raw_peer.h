// A peer moved by hand over any reactor: reads everything, writes what the test says.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "steelyard/io/reactor.h"

namespace steelyard::wire::testing {

class RawPeer final : public io::StreamEvents {
 public:
  RawPeer(io::Reactor& reactor, io::Fd socket) { open(reactor.adopt(std::move(socket), *this)); }
  RawPeer(io::Reactor& reactor, const base::Address& to) { open(reactor.connect(to, {}, *this)); }

  void send(std::string_view text) { stream->write(base::Buf::heap_copy(text)); }
  std::string got;
  bool ended = false, failed = false;
  std::unique_ptr<io::Stream> stream;

  void on_open(const io::PeerInfo&) noexcept override {}
  void on_bytes(base::Buf bytes) noexcept override {
    got += bytes.text();
    stream->grant(bytes.size());
  }
  void on_end() noexcept override { ended = true; }
  void on_sent(std::size_t) noexcept override {}
  void on_failed(base::Error) noexcept override { failed = true; }

 private:
  void open(std::unique_ptr<io::Stream> opened) {
    stream = std::move(opened);
    stream->grant(std::size_t{1} << 20);
  }
};

// Accepts everything and greets it with `greeting`.
class RawServer final : public io::AcceptEvents {
 public:
  RawServer(io::Reactor& reactor, io::Fd socket, std::string greeting = "")
      : reactor_(reactor),
        fd_(std::move(socket)),
        greeting_(std::move(greeting)),
        listener_(reactor.listen(fd_, *this)) {
    listener_->grant(1000);
  }
  std::vector<std::unique_ptr<RawPeer>> peers;
  bool finish = false;  // FIN behind the greeting

  void on_accept(io::Fd socket, const base::Address&) noexcept override {
    peers.push_back(std::make_unique<RawPeer>(reactor_, std::move(socket)));
    if (!greeting_.empty()) peers.back()->send(greeting_);
    if (finish) peers.back()->stream->end_write();
  }
  void on_stopped() noexcept override {}

 private:
  io::Reactor& reactor_;
  io::Fd fd_;
  std::string greeting_;
  std::unique_ptr<io::Listener> listener_;
};

}  // namespace steelyard::wire::testing
