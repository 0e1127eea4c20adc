// IPv4 sockets of the rigs: listening, connecting, and a connection with a queue (`Wire`).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "test/rigs/lib/loop.h"

namespace steelyard::rigs {

struct Endpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
};
// "127.0.0.1:80", ":80" or "80".
[[nodiscard]] Endpoint endpoint_of(std::string_view text);

// A listening socket, or -1 with errno; port 0 takes a free one.
[[nodiscard]] int listen_on(const Endpoint& at, int backlog = 4096);
[[nodiscard]] std::uint16_t port_of(int fd);
// A port that was free a moment ago.
[[nodiscard]] std::uint16_t free_port();
// A non-blocking socket whose connect is under way, or -1; `from` is a local address, or empty.
[[nodiscard]] int start_connect(const Endpoint& to, const std::string& from = {});
// A blocking socket that is connected, or -1; reads give up after `timeout`.
[[nodiscard]] int connect_now(const Endpoint& to,
                              std::chrono::milliseconds timeout = std::chrono::seconds(5));
// close() then sends RST.
void reset_on_close(int fd);

// A connection on a loop. Owned by a shared_ptr; the callbacks must not hold it. After `close` or
// `reset` no callback comes. After `end(0)`, the other side's FIN, sending still works; after
// `end(errno)` the connection is gone.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  struct Events {
    std::function<void()> connected = nullptr;
    std::function<void(std::string_view)> bytes;
    std::function<void(int error)> end;
    std::function<void()> drained = nullptr;  // everything queued was taken by the kernel
  };

  static std::shared_ptr<Wire> adopt(Loop& loop, int fd);  // connected
  static std::shared_ptr<Wire> dial(Loop& loop, const Endpoint& to, const std::string& from = {});
  Wire(Loop& loop, int fd, bool connecting);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() { close(); }

  Events on;

  void send(std::string_view bytes);
  void shutdown_write();  // after what is queued
  void read_on(bool wanted);
  void close();
  void reset();
  [[nodiscard]] std::size_t queued() const { return out_.size() - out_at_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  void ready(std::uint32_t events);
  void read();
  void flush();
  void watch();
  void fail(int error);

  Loop& loop_;
  int fd_;
  bool connecting_, reading_ = true, saw_end_ = false, shut_ = false;
  std::uint32_t watched_ = 0;
  std::string out_;
  std::size_t out_at_ = 0;
};

}  // namespace steelyard::rigs
