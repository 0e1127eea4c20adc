// One client's connection of the Server, and the core that holds them. Pooled: a connection object
// is used again.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "steelyard/http/http1.h"
#include "steelyard/wire/server.h"

namespace steelyard::wire {

class ServerCore;

class ServerConnection final : public io::StreamEvents,
                               public io::TimerEvents,
                               public http::CodecEvents {
 public:
  ServerConnection(ServerCore& core, std::uint32_t slot);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  virtual ~ServerConnection() = default;

  void begin(io::Fd socket, const base::Address& peer);
  void answer(std::uint64_t ticket, Response response) noexcept;
  void abort(std::uint64_t ticket) noexcept;
  void drain() noexcept;
  [[nodiscard]] bool waits(std::uint64_t ticket) const noexcept {
    return ticket == ticket_ && phase_ == Phase::kHandling;
  }
  [[nodiscard]] bool in_use() const noexcept { return phase_ != Phase::kFree; }
  // Nothing of a request is here, since then.
  [[nodiscard]] bool idle() const noexcept { return phase_ == Phase::kIdle; }
  [[nodiscard]] base::TimePoint idle_since() const noexcept { return idle_since_; }
  void give_way() noexcept { release(); }  // of an idle one: closed at once

 private:
  enum class Phase : std::uint8_t { kFree, kIdle, kReceiving, kHandling, kClosing };

  void on_open(const io::PeerInfo&) noexcept override {}
  void on_bytes(base::Buf bytes) noexcept override;
  void on_end() noexcept override;
  void on_sent(std::size_t bytes) noexcept override;
  void on_failed(base::Error error) noexcept override;
  void on_time() noexcept override;

  void on_head(http::StreamId id, const http::Head& head) noexcept override;
  void on_body(http::StreamId id, base::Buf bytes) noexcept override;
  void on_trailers(http::StreamId, std::span<const http::Field>) noexcept override {}
  void on_end(http::StreamId id) noexcept override;
  void on_reset(http::StreamId id, const http::Reset& reset) noexcept override;
  void on_writable(http::StreamId) noexcept override {}
  void on_output(base::Buf bytes) noexcept override { stream_->write(std::move(bytes)); }
  void on_credit(std::size_t bytes) noexcept override { stream_->grant(bytes); }
  void on_pending() noexcept override { more_ = true; }
  void on_refused(const http::Reset&, std::string_view) noexcept override {}
  void on_close(http::Close how) noexcept override { close_ = how; }
  http::Room room(std::size_t bytes) noexcept override;

  template <typename F>
  void with_codec(
      F work) noexcept;  // runs it, then does what the codec asked for, from a clean stack
  void settle() noexcept;
  void set_phase() noexcept;
  void release() noexcept;

  ServerCore* core_;
  std::uint32_t slot_;
  std::uint64_t ticket_ =
      1;  // of the request being handled; grows with each, and with each release
  Phase phase_ = Phase::kFree;
  base::TimePoint idle_since_{};
  bool busy_ = false;
  bool more_ = false;
  bool peer_ended_ = false;
  std::optional<http::Close> close_;
  std::unique_ptr<io::Timer> timer_;
  std::unique_ptr<io::Stream> stream_;
  std::unique_ptr<http::ServerCodec> codec_;
  http::StreamId id_ = http::StreamId::kNone;
  base::Address peer_;
  Request request_;
};

class ServerCore final : public std::enable_shared_from_this<ServerCore>, io::TimerEvents {
 public:
  ServerCore(io::Reactor& reactor, const ServerOptions& options, Server::Handler handler);
  ServerCore(const ServerCore&) = delete;
  ServerCore& operator=(const ServerCore&) = delete;

  void listen(io::Fd socket);
  void drain(std::function<void()> stopped);
  [[nodiscard]] std::size_t open() const noexcept { return open_; }
  [[nodiscard]] ServerConnection& connection(std::uint32_t slot) noexcept {
    return *connections_[slot];
  }

  [[nodiscard]] io::Reactor& reactor() noexcept { return reactor_; }
  [[nodiscard]] const ServerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::shared_ptr<http::Http1Pool>& pool() noexcept { return pool_; }
  void handle(const Request& request, std::uint32_t slot, std::uint64_t ticket);
  void gone(std::uint32_t slot);

 private:
  class Door final : public io::AcceptEvents {  // one listening socket
   public:
    Door(ServerCore& core, io::Fd socket);
    virtual ~Door() = default;
    void on_accept(io::Fd socket, const base::Address& peer) noexcept override;
    void on_stopped() noexcept override;
    ServerCore* core;
    io::Fd fd;
    std::unique_ptr<io::Listener> listener;
    bool paused = false;
    bool stopped = false;
  };
  void accepted(Door& door, io::Fd socket, const base::Address& peer);
  bool make_room();
  void on_time() noexcept override;
  void check_stopped();

  io::Reactor& reactor_;
  ServerOptions options_;
  Server::Handler handler_;
  std::shared_ptr<http::Http1Pool> pool_;
  std::unique_ptr<io::Timer> timer_;  // while a door is paused
  std::vector<std::unique_ptr<ServerConnection>> connections_;
  std::vector<std::uint32_t> free_;
  std::vector<std::unique_ptr<Door>> doors_;
  std::function<void()> stopped_;
  std::size_t open_ = 0;
  bool draining_ = false;
};

}  // namespace steelyard::wire
