// One question of the Client and its connection. Pooled: `begin` … `done` … (polite close) … free
// again.
#pragma once

#include <memory>
#include <optional>

#include "steelyard/http/http1.h"
#include "steelyard/wire/client.h"

namespace steelyard::wire {

class ClientCore;

class ClientExchange final : public io::StreamEvents,
                             public io::TimerEvents,
                             public http::CodecEvents {
 public:
  ClientExchange(ClientCore& core, std::uint32_t slot);
  ClientExchange(const ClientExchange&) = delete;
  ClientExchange& operator=(const ClientExchange&) = delete;
  virtual ~ClientExchange() = default;

  void begin_send(const base::Address& to, const Request& request, const CallOptions& options,
                  Client::Done done);
  void begin_open(const base::Address& to, base::Duration timeout, Client::Opened done);
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  [[nodiscard]] bool pending() const noexcept { return state_ == State::kAsking; }
  void cancel() noexcept { release(); }

 private:
  enum class State : std::uint8_t { kFree, kAsking, kClosing };

  void on_open(const io::PeerInfo& peer) noexcept override;
  void on_bytes(base::Buf bytes) noexcept override;
  void on_end() noexcept override;
  void on_sent(std::size_t) noexcept override {}
  void on_failed(base::Error error) noexcept override;
  void on_time() noexcept override;

  void on_head(http::StreamId id, const http::Head& head) noexcept override;
  void on_body(http::StreamId id, base::Buf bytes) noexcept override;
  void on_trailers(http::StreamId, std::span<const http::Field>) noexcept override {}
  void on_end(http::StreamId) noexcept override { whole_ = true; }
  void on_reset(http::StreamId id, const http::Reset& reset) noexcept override;
  void on_writable(http::StreamId) noexcept override {}
  void on_output(base::Buf bytes) noexcept override;
  void on_credit(std::size_t bytes) noexcept override;
  void on_pending() noexcept override {}
  void on_refused(const http::Reset&, std::string_view) noexcept override {}
  void on_close(http::Close) noexcept override {}
  http::Room room(std::size_t bytes) noexcept override;

  void start(const base::Address& to, base::Duration timeout);
  void settle() noexcept;  // after the codec has returned: the verdict, if there is one
  void fail(base::Error error) noexcept;
  void succeed() noexcept;
  void release() noexcept;

  ClientCore* core_;
  std::uint32_t slot_;
  std::uint64_t generation_ = 1;
  State state_ = State::kFree;
  bool whole_ = false;
  bool peer_ended_ = false;
  bool want_headers_ = true;
  std::size_t max_body_ = 0;
  std::unique_ptr<io::Timer> timer_;
  std::unique_ptr<io::Stream> stream_;
  std::unique_ptr<http::ClientCodec> codec_;
  http::StreamId id_ = http::StreamId::kNone;
  std::optional<base::Error> error_;
  std::string head_, body_;  // of the request
  http::Method method_ = http::Method::kGet;
  Response response_;
  Client::Done done_;
  Client::Opened opened_;
};

class ClientCore {
 public:
  explicit ClientCore(io::Reactor& reactor);
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  [[nodiscard]] io::Reactor& reactor() noexcept { return reactor_; }
  [[nodiscard]] const std::shared_ptr<http::Http1Pool>& pool() noexcept { return pool_; }
  ClientExchange& take(std::uint32_t& slot);
  void give_back(std::uint32_t slot) { free_.push_back(slot); }
  [[nodiscard]] ClientExchange* find(std::uint32_t slot, std::uint64_t generation) noexcept;
  std::size_t pending = 0;

 private:
  io::Reactor& reactor_;
  std::shared_ptr<http::Http1Pool> pool_;
  std::vector<std::unique_ptr<ClientExchange>> exchanges_;
  std::vector<std::uint32_t> free_;
};

}  // namespace steelyard::wire
