// Core: what the parts of one worker share: the reactor, what is published, pools of objects, the
// lists of who waits, the counters. Behind worker.h; nothing else includes it.
//
// Objects come from pools and go back there, so that a steady load allocates nothing; `trim` frees
// what no load of the last minute needed, a few at a time. One timer serves all DueLists and the
// stopping of listeners; it is armed for the earliest and left alone when that moves later.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/http/date.h"
#include "steelyard/proxy/access_facts.h"
#include "steelyard/proxy/address_counts.h"
#include "steelyard/proxy/client_connection.h"
#include "steelyard/proxy/exchange.h"
#include "steelyard/proxy/generations.h"
#include "steelyard/proxy/listening.h"
#include "steelyard/proxy/node_connection.h"
#include "steelyard/proxy/node_pool.h"
#include "steelyard/proxy/object_pool.h"
#include "steelyard/proxy/overload.h"
#include "steelyard/proxy/wait_room.h"
#include "steelyard/proxy/worker.h"

namespace steelyard::proxy {

// Unsent bytes of a stream above which its source waits. Measured (bench/proxy.sh, 1 MiB): 32 and
// 128 KiB cost about a tenth more.
inline constexpr std::size_t kHighWater = std::size_t{64} << 10;
inline constexpr base::Duration kLingerTime = std::chrono::seconds(2);
inline constexpr base::Duration kCutLook = std::chrono::milliseconds(50);
inline constexpr base::Duration kBeat = std::chrono::milliseconds(10);
inline constexpr base::Duration kLastWords = std::chrono::milliseconds(200);
inline constexpr base::Duration kUrgentGap = std::chrono::milliseconds(5);

using Clients = DueList<ClientConnection, &ClientConnection::due>;
using NodeConnections = DueList<NodeConnection, &NodeConnection::due>;
using AllClients = DueList<ClientConnection, &ClientConnection::all>;

class Core final : io::TimerEvents {
 public:
  Core(io::Reactor& reactor, const WorkerOptions& options, const model::Slots& slots,
       Published& published, WorkerEvents& events);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void take_record();
  void turn(base::TimePoint until);
  void add_listener(const io::Fd& socket, const base::Address& address);
  void remove_listener(const base::Address& address);
  void hand_over(const base::Address& address);
  void drain(base::TimePoint idle_until, base::TimePoint limit, base::TimePoint accept_until);
  [[nodiscard]] bool finished() const noexcept { return finished_; }

  // Objects.
  [[nodiscard]] ClientConnection& new_client();
  [[nodiscard]] NodeConnection& new_node_connection();
  [[nodiscard]] Exchange& new_exchange();
  void free(ClientConnection& client) noexcept;
  void free(NodeConnection& connection) noexcept;
  void free(Exchange& exchange) noexcept;
  // There are, in use or not.
  [[nodiscard]] std::size_t objects() const noexcept {
    return client_pool_.size() + node_connection_pool_.size() + exchange_pool_.size();
  }

  // A stream to the node, through `Exchange::on_ready` or `on_failed`; at once on a pooled
  // connection.
  void acquire(const model::TableNode& node, bool fresh, base::Duration timeout, Attempt& attempt);

  // Codecs.
  [[nodiscard]] std::unique_ptr<http::ServerCodec> server_codec(http::CodecEvents& to);
  [[nodiscard]] std::unique_ptr<http::ClientCodec> client_codec(http::CodecEvents& to);

  void listener_stopped(Listening& listening) noexcept;
  void let_clients_in() noexcept;
  // The access log. An exchange tells its facts once, at its end; it keeps what they need only
  // while `logging`.
  [[nodiscard]] bool logging() const noexcept {
    return options.access != nullptr && config() != nullptr && !config()->log.file.empty();
  }
  void log(const AccessFacts& facts) noexcept;
  void due_by(base::TimePoint when) noexcept;  // the clock must go off by then
  void urgent(model::NodeRef node) noexcept;
  [[nodiscard]] std::string_view next_request_id() noexcept;  // valid until the next call
  [[nodiscard]] std::string_view date() noexcept;             // of now, for answers of our own
  [[nodiscard]] bool draining() const noexcept { return draining_; }
  [[nodiscard]] std::size_t client_limit() const noexcept;
  // This worker's part of a limit of the process; at least 1.
  [[nodiscard]] std::size_t share(std::uint32_t limit) const noexcept {
    return std::max<std::size_t>(1, limit / std::max(1U, options.workers));
  }
  // May a connection of this address come in? `counted`: it must leave `addresses` at its end.
  [[nodiscard]] bool admit(const base::Address& peer, bool& counted) noexcept;
  [[nodiscard]] AddressCounts& addresses() noexcept { return *addresses_; }
  // How the side that takes a body does, once it was sent to and `unsent` is left.
  [[nodiscard]] Window::Taker taker(std::size_t unsent) const noexcept {
    const bool quick = unsent == 0 && overload.stage() == Stage::kCalm;
    return quick ? Window::Taker::kQuick : Window::Taker::kSlow;
  }
  // Time-outs of clients, as overload leaves them.
  [[nodiscard]] base::Duration head_wait() const noexcept;
  [[nodiscard]] base::Duration idle_wait() const noexcept;
  [[nodiscard]] const Config* config() const noexcept {
    return generations.current() == nullptr ? nullptr : generations.current()->config;
  }

  io::Reactor& reactor;
  const WorkerOptions options;
  const model::Slots& slots;
  Published& published;
  WorkerEvents& events;
  WorkerMetrics metrics;
  base::Rng rng;
  const Record* record = nullptr;  // of this turn
  std::uint64_t record_number = 0;
  Generations generations;
  pick::Cursors cursors;
  request::States states;
  NodePools pools;
  DeferredQueue deferred;
  WaitRoom wait_room;
  Overload overload;
  Window::Widened widened = 0;

  AllClients clients;
  Clients waiting_head;  // clients that owe us a head
  Clients paced;         // clients that send a body, or let an answer wait
  Clients idle;          // keep-alive clients between requests
  Clients lingering;     // clients that are told everything
  Clients cut;           // clients that do not have all yet of an answer that was cut
  Clients closing;       // clients to be closed after this turn, when their FIN is out
  NodeConnections lingering_nodes;
  NodeConnections closing_nodes;
  std::size_t live_exchanges = 0;

 private:
  void on_time() noexcept override;
  void place_listeners() noexcept;
  void close_idle_of(const Listening* listening) noexcept;  // null: of all
  void drop_listenings() noexcept;
  void expire_oldest() noexcept;
  void stop_listening(base::TimePoint now) noexcept;
  void go_on_draining(base::TimePoint now) noexcept;
  void check_finished() noexcept;
  void check_memory(base::TimePoint now) noexcept;
  void shed_largest() noexcept;
  void trim(base::TimePoint now) noexcept;
  [[nodiscard]] base::Duration hurried(base::Duration wait) const noexcept;
  [[nodiscard]] base::TimePoint next_due() const noexcept;

  std::shared_ptr<http::Http1Pool> http1_;
  std::shared_ptr<AddressCounts> addresses_;
  ObjectPool<ClientConnection> client_pool_;
  ObjectPool<NodeConnection> node_connection_pool_;
  ObjectPool<Exchange> exchange_pool_;
  std::vector<std::unique_ptr<Listening>> listenings_;
  std::unique_ptr<io::Timer> clock_;
  base::TimePoint armed_ = base::TimePoint::max();
  base::TimePoint look_at_ = base::TimePoint::max();  // at the listeners' queues
  base::TimePoint next_beat_ = base::TimePoint::max();
  base::TimePoint idle_until_{};
  base::TimePoint limit_{};
  base::TimePoint next_urgent_{};
  base::TimePoint next_memory_{};
  base::TimePoint next_shed_{};
  base::TimePoint next_trim_{};
  base::TimePoint next_second_{};  // of trimming
  static constexpr std::size_t kIdPrefix = 16;
  std::array<char, http::kDateSize> date_text_{};
  std::chrono::sys_seconds date_of_{};
  std::array<char, 32> id_text_{};  // of the last request: random digits, then a count
  bool full_ = false;               // nobody is let in because of the limit
  base::TimePoint accept_until_{};  // while draining
  bool draining_ = false;
  bool told_ = false;  // the drain's limit has come
  bool finished_ = false;
};

}  // namespace steelyard::proxy
