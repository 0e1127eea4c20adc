// ClientConnection: one connection of a client, with its codec; begins an Exchange for each stream.
//
// Timing: a connection waits for a head (from connecting, or from the first byte of one), is idle
// between requests, is busy, or lingers after its end; the worker's DueLists time the first two and
// the last, the exchange itself is timed by its rules. What still arrives for a stream whose
// exchange is over is discarded. Owned by its worker's Core, which reuses the object.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "steelyard/http/codec.h"
#include "steelyard/io/reactor.h"
#include "steelyard/proxy/deferred.h"
#include "steelyard/proxy/due_list.h"

namespace steelyard::proxy {

class Core;
class Exchange;
class Listening;

class ClientConnection final : io::StreamEvents, http::CodecEvents, public Deferred {
 public:
  explicit ClientConnection(Core& core) noexcept : core_(core) {}

  void adopt(io::Fd socket, const base::Address& peer, Listening& listening);
  void on_due() noexcept;         // its wait in a DueList is over
  void close_if_idle() noexcept;  // while draining
  void kill() noexcept;           // at once; its exchanges are given up

  [[nodiscard]] http::ServerCodec& codec() noexcept { return *codec_; }
  [[nodiscard]] std::string_view peer_ip() const noexcept { return {ip_.data(), ip_size_}; }
  [[nodiscard]] Listening& listening() noexcept { return *listening_; }
  [[nodiscard]] bool leaving() const noexcept;  // its answers say `Connection: close`
  // May more of an answer be handed over?
  [[nodiscard]] bool writable(http::StreamId stream) const noexcept;
  [[nodiscard]] std::size_t unsent() const noexcept { return stream_->unsent(); }
  void over(Exchange& exchange) noexcept;  // it ended; it is no longer one of ours
  void abort(http::StreamId stream) noexcept;
  [[nodiscard]] Exchange* exchanges() noexcept { return exchanges_; }

  void settle() noexcept override;

  DueLink<ClientConnection> due;  // waiting for something
  DueLink<ClientConnection> all;  // every client of the worker

 private:
  enum class State : std::uint8_t { kFree, kOpen, kLingering, kDead };
  static constexpr std::size_t kLinger = std::size_t{64} << 10;

  void on_open(const io::PeerInfo& peer) noexcept override;
  void on_bytes(base::Buf bytes) noexcept override;
  void on_end() noexcept override;
  void on_sent(std::size_t bytes) noexcept override;
  void on_failed(base::Error error) noexcept override;

  void on_head(http::StreamId id, const http::Head& head) noexcept override;
  void on_body(http::StreamId id, base::Buf bytes) noexcept override;
  void on_trailers(http::StreamId id, std::span<const http::Field> fields) noexcept override;
  void on_end(http::StreamId id) noexcept override;
  void on_reset(http::StreamId id, const http::Reset& reset) noexcept override;
  void on_writable(http::StreamId id) noexcept override;
  void on_output(base::Buf bytes) noexcept override;
  void on_credit(std::size_t bytes) noexcept override;
  void on_pending() noexcept override;
  void on_refused(const http::Reset& reset) noexcept override;
  void on_close(http::Close how) noexcept override;
  http::Room room(std::size_t bytes) noexcept override;

  [[nodiscard]] Exchange* find(http::StreamId id) noexcept;
  void begin_linger() noexcept;
  void place() noexcept;  // into the list that fits what it waits for

  Core& core_;
  std::unique_ptr<io::Stream> stream_;
  std::unique_ptr<http::ServerCodec> codec_;
  Exchange* exchanges_ = nullptr;
  Listening* listening_ = nullptr;
  std::size_t discarded_ = 0;
  State state_ = State::kFree;
  bool asked_ = false;    // a head has come on it
  bool pending_ = false;  // the codec wants resume()
  bool ended_ = false;    // the client has sent its FIN
  std::uint8_t ip_size_ = 0;
  std::array<char, 46> ip_{};
};

}  // namespace steelyard::proxy
