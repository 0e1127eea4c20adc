// NodeConnection: one connection to a node, with its codec: connecting, serving streams, idle in
// the pool, closing.
//
// HTTP/1 gives it one stream at a time; nothing here relies on that. It goes back to the pool when
// its codec says that it can open another stream and everything was sent; a connection on which
// bytes or an end arrive while it is idle is closed. It tells the pool what it learns about how
// long the node keeps connections. Owned by its worker's Core, which reuses the object; all calls
// on the worker's thread.
#pragma once

#include <memory>

#include "steelyard/model/node_ref.h"
#include "steelyard/proxy/attempt.h"
#include "steelyard/proxy/connection.h"
#include "steelyard/proxy/due_list.h"
#include "steelyard/proxy/object_pool.h"

namespace steelyard::proxy {

struct PoolOptions;

class NodeConnection final : public Connection {
 public:
  explicit NodeConnection(Core& core) noexcept : Connection(core) {}

  void connect(model::NodeRef node, const base::Address& address, base::Duration timeout);
  // The attempt's stream; at once on an open connection (false: it takes no more), else when it is
  // connected.
  bool open(Attempt& attempt) noexcept;
  void forget(Attempt& attempt) noexcept;  // its stream is over
  void cancel(Attempt& attempt) noexcept;  // its stream is given up
  void silent(Attempt& attempt) noexcept;  // the same, because the node said nothing in time
  void close_idle() noexcept;              // from the pool
  void kill() noexcept;                    // at once

  [[nodiscard]] http::ClientCodec& codec() noexcept { return *codec_; }
  [[nodiscard]] model::NodeRef node() const noexcept { return node_; }
  [[nodiscard]] const base::Address& address() const noexcept { return address_; }
  // Too old, or has served enough, to be kept.
  [[nodiscard]] bool worn(const PoolOptions& options, base::TimePoint now) const noexcept;
  // May more of a request be handed over?
  [[nodiscard]] bool writable(http::StreamId stream) const noexcept {
    return has_room(*codec_, stream);
  }

  void prefetch_rest() const noexcept { prefetch_parts(codec_.get()); }

  void settle() noexcept override;

  DueLink<NodeConnection> in_pool;  // of its node
  DueLink<NodeConnection> due;      // idle or lingering, of the worker
  PoolLink<NodeConnection> pooled;

 private:
  enum class State : std::uint8_t { kFree, kConnecting, kOpen, kPooled, kLingering, kDead };

  void on_open(const io::PeerInfo& peer) noexcept override;
  void on_bytes(base::Buf bytes) noexcept override;
  void on_end() noexcept override;
  void on_sent(std::size_t bytes) noexcept override;
  void on_failed(base::Error error) noexcept override;
  void on_soon(unsigned step) const noexcept override;

  void on_head(http::StreamId id, const http::Head& head) noexcept override;
  void on_body(http::StreamId id, base::Buf bytes) noexcept override;
  void on_trailers(http::StreamId id, std::span<const http::Field> fields) noexcept override;
  void on_end(http::StreamId id) noexcept override;
  void on_reset(http::StreamId id, const http::Reset& reset) noexcept override;
  void on_writable(http::StreamId id) noexcept override;
  void on_refused(const http::Reset& reset, std::string_view head) noexcept override;
  void on_close(http::Close how) noexcept override;

  [[nodiscard]] Attempt* find(http::StreamId id) noexcept;
  void fail_all(const base::Error& error) noexcept;
  void leave_lists() noexcept;
  void died_idle() noexcept;
  void begun() noexcept;  // a stream of ours is open

  std::unique_ptr<http::ClientCodec> codec_;
  Attempt* attempts_ = nullptr;
  model::NodeRef node_;
  base::Address address_;
  base::TimePoint born_{};
  base::TimePoint asked_{};       // when it last began to connect or to serve a stream
  base::TimePoint idle_since_{};  // when it last came into the pool
  std::uint32_t requests_ = 0;    // streams opened on it
  State state_ = State::kFree;
};

}  // namespace steelyard::proxy
