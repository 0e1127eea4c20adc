// ClientConnection: one connection of a client, with its codec; begins an Exchange for each stream.
//
// Timing: a connection waits for a head (from connecting, or from the first byte of one), is idle
// between requests, is busy, or lingers after its end: until the client's FIN, or only until
// everything is sent where the client said that nothing more comes from it, or until the client
// has what came of an answer that was cut, since a reset drops what is under way. The DueLists
// time the first two and the last, the exchange itself is timed by its rules. While a body comes
// in, or an answer is not taken, its pace is looked at every 5 s (paces.h). What still arrives for
// a stream whose exchange is over is discarded. Owned by its worker's Core, which reuses the
// object.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "steelyard/proxy/connection.h"
#include "steelyard/proxy/due_list.h"
#include "steelyard/proxy/object_pool.h"
#include "steelyard/proxy/pace.h"
#include "steelyard/request/reason.h"

namespace steelyard::proxy {

class Exchange;
class Listening;

class ClientConnection final : public Connection {
 public:
  explicit ClientConnection(Core& core) noexcept : Connection(core) {}

  // `counted`: in the AddressCounts, which it then leaves at its end.
  void adopt(io::Fd socket, const base::Address& peer, bool counted, Listening& listening);
  void on_due() noexcept;         // its wait in a DueList is over
  void close_if_idle() noexcept;  // while draining
  // At once; its exchanges are given up, `why` is what the log says of them.
  void kill(request::Reason why = request::Reason::kClientGone) noexcept;

  void shed() noexcept;  // the same, by overload

  [[nodiscard]] http::ServerCodec& codec() noexcept { return *codec_; }
  [[nodiscard]] std::string_view peer_ip() const noexcept { return {ip_.data(), ip_size_}; }
  [[nodiscard]] Listening& listening() noexcept { return *listening_; }
  [[nodiscard]] const base::Address& peer() const noexcept { return peer_; }
  [[nodiscard]] bool leaving() const noexcept;      // its answers say `Connection: close`
  [[nodiscard]] std::size_t held() const noexcept;  // bytes in buffers because of it
  // Bytes of the client that messages have used, and bytes written to it: ever.
  [[nodiscard]] std::uint64_t used() const noexcept { return received_ - codec_->unread(); }
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
  // When the first byte came of the request whose head is whole now; of one that was pipelined:
  // now.
  [[nodiscard]] base::TimePoint take_asked(base::TimePoint now) noexcept {
    const auto asked = std::exchange(asked_, base::TimePoint{});
    return asked == base::TimePoint{} ? now : asked;
  }
  // May more of an answer be handed over?
  [[nodiscard]] bool writable(http::StreamId stream) noexcept {
    const bool room = has_room(*codec_, stream);
    if (!room) answer_waits();
    return room;
  }
  void over(Exchange& exchange) noexcept;  // it ended; it is no longer one of ours
  // Its answer stays incomplete, and is seen to be: what came goes out, then the connection is
  // reset.
  void abort(http::StreamId stream) noexcept;
  [[nodiscard]] Exchange* exchanges() noexcept { return exchanges_; }

  void prefetch_rest() const noexcept { prefetch_parts(codec_.get()); }

  void settle() noexcept override;

  DueLink<ClientConnection> due;  // waiting for something
  DueLink<ClientConnection> all;  // every client of the worker
  PoolLink<ClientConnection> pooled;

 private:
  enum class State : std::uint8_t { kFree, kOpen, kLingering, kDead };
  static constexpr std::size_t kLinger = std::size_t{64} << 10;

  void on_open(const io::PeerInfo& peer) noexcept override;
  void on_bytes(base::Buf bytes) noexcept override;
  void on_output(base::Buf bytes) noexcept override {
    written_ += bytes.size();
    Connection::on_output(std::move(bytes));
  }
  void on_end() noexcept override;
  void on_sent(std::size_t bytes) noexcept override;
  void on_failed(base::Error error) noexcept override;
  void on_soon(unsigned step) const noexcept override {
    if (step == kSoonSteps - 1) prefetch_rest();
  }

  void on_head(http::StreamId id, const http::Head& head) noexcept override;
  void on_body(http::StreamId id, base::Buf bytes) noexcept override;
  void on_trailers(http::StreamId id, std::span<const http::Field> fields) noexcept override;
  void on_end(http::StreamId id) noexcept override;
  void on_reset(http::StreamId id, const http::Reset& reset) noexcept override;
  void on_writable(http::StreamId id) noexcept override;
  void on_credit(std::size_t bytes) noexcept override;
  void on_refused(const http::Reset& reset, std::string_view head) noexcept override;
  void on_close(http::Close how) noexcept override;
  std::string_view date() noexcept override;

  [[nodiscard]] Exchange* find(http::StreamId id) noexcept;
  [[nodiscard]] std::uint32_t most_requests() const noexcept;
  void begin_linger() noexcept;
  void check_pace() noexcept;
  void begin_receiving() noexcept;
  void answer_waits() noexcept;  // for the client: from now on its pace counts
  void refuse(http::StreamId id, const http::Head& head) noexcept;  // 503: overload
  void refuse_part() noexcept;
  void count_overload() noexcept;
  void count_refusal(const http::Reset& reset) noexcept;
  void log_refusal(const http::Reset& reset, std::string_view head) noexcept;
  void look_at_cut() noexcept;  // how much of the answer that was cut the client does not have yet
  void place() noexcept;        // into the list that fits what it waits for

  std::unique_ptr<http::ServerCodec> codec_;
  Exchange* exchanges_ = nullptr;
  Listening* listening_ = nullptr;
  std::size_t discarded_ = 0;
  std::size_t credit_ = 0;  // bytes that the client may send
  std::size_t unconfirmed_ = 0;
  std::uint64_t received_ = 0;  // bytes
  std::uint64_t written_ = 0;
  base::TimePoint asked_{};  // when the first byte of the next head came, if any did
  Pace body_;
  Pace answer_;
  std::uint32_t requests_ = 0;
  base::Address peer_;
  State state_ = State::kFree;
  request::Reason lost_ = request::Reason::kClientGone;  // why it was killed
  bool counted_ = false;
  bool receiving_ = false;  // a body is on its way
  bool waits_ = false;      // … but the client waits for `100 Continue` before it sends it
  bool brief_ = false;      // lingering only until everything is sent
  bool cut_ = false;        // until the client has it, and then reset
  unsigned looks_ = 0;      // for that, in a row without progress
  std::uint8_t ip_size_ = 0;
  std::array<char, 46> ip_{};
};

}  // namespace steelyard::proxy
