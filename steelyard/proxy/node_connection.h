// NodeConnection: one connection to a node, with its codec: connecting, serving streams, idle in
// the pool, closing.
//
// HTTP/1 gives it one stream at a time; nothing here relies on that. It goes back to the pool when
// its codec says that it can open another stream and everything was sent; a connection on which
// bytes or an end arrive while it is idle is closed. Owned by its worker's Core, which reuses the
// object; all calls on the worker's thread.
#pragma once

#include <memory>

#include "steelyard/http/codec.h"
#include "steelyard/io/reactor.h"
#include "steelyard/model/node_ref.h"
#include "steelyard/proxy/attempt.h"
#include "steelyard/proxy/deferred.h"
#include "steelyard/proxy/due_list.h"

namespace steelyard::proxy {

class Core;

class NodeConnection final : io::StreamEvents, http::CodecEvents, public Deferred {
 public:
  explicit NodeConnection(Core& core) noexcept : core_(core) {}

  void connect(model::NodeRef node, const base::Address& address, base::Duration timeout);
  // The attempt's stream; at once on an open connection (false: it takes no more), else when it is
  // connected.
  bool open(Attempt& attempt) noexcept;
  void forget(Attempt& attempt) noexcept;  // its stream is over
  void cancel(Attempt& attempt) noexcept;  // its stream is given up
  void close_idle() noexcept;              // from the pool
  void kill() noexcept;                    // at once

  [[nodiscard]] http::ClientCodec& codec() noexcept { return *codec_; }
  [[nodiscard]] model::NodeRef node() const noexcept { return node_; }
  [[nodiscard]] const base::Address& address() const noexcept { return address_; }
  [[nodiscard]] bool served() const noexcept { return served_; }
  // May more of a request be handed over?
  [[nodiscard]] bool writable(http::StreamId stream) const noexcept;

  void settle() noexcept override;

  DueLink<NodeConnection> in_pool;  // of its node
  DueLink<NodeConnection> due;      // idle or lingering, of the worker

 private:
  enum class State : std::uint8_t { kFree, kConnecting, kOpen, kPooled, kLingering, kDead };

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

  [[nodiscard]] Attempt* find(http::StreamId id) noexcept;
  void fail_all(const base::Error& error) noexcept;
  void leave_lists() noexcept;

  Core& core_;
  std::unique_ptr<io::Stream> stream_;
  std::unique_ptr<http::ClientCodec> codec_;
  Attempt* attempts_ = nullptr;
  model::NodeRef node_;
  base::Address address_;
  State state_ = State::kFree;
  bool served_ = false;
  bool pending_ = false;
  bool ended_ = false;  // the node has sent its FIN
};

}  // namespace steelyard::proxy
