// Exchange: one request and its answer, moving between a client's stream and streams of nodes; the
// rules are request::Exchange, this carries out its Steps.
//
// Request: the head is written once, into memory of ours, and shared by all attempts; the body goes
// on as it comes, by credit: the client is asked for more when the node has taken what was there.
// What comes before a node is connected, and small bodies of idempotent requests until the answer
// begins, are kept in a BodyStore so that they can be sent (again). Answer: heads that need no
// change and bodies are passed on without copying; the node is asked for more when the client has
// taken it. An answer that ends before the request does closes the client's connection after it,
// politely. Framing fields are never copied: each side's codec frames anew from OutHead.
//
// Pooled by Core: never destroyed inside a turn of the worker. Cost: no allocation, but for
// trailers and for tunnels that are logged.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/http/codec.h"
#include "steelyard/io/reactor.h"
#include "steelyard/proxy/access_facts.h"
#include "steelyard/proxy/attempt.h"
#include "steelyard/proxy/body_store.h"
#include "steelyard/proxy/generations.h"
#include "steelyard/proxy/object_pool.h"
#include "steelyard/request/exchange.h"

namespace steelyard::proxy {

class ClientConnection;
class Core;
class Exchange;

// The rules, and whose they are: a queue names those who wait by their rules.
struct Rules final : request::Exchange {
  explicit Rules(proxy::Exchange& whose) noexcept : owner(whose) {}
  proxy::Exchange& owner;
};

// What the log is told of a tunnel's nodes, kept while it lives.
struct KeptFacts {
  using PickText = std::array<char, 64>;
  explicit KeptFacts(const AccessFacts& facts);
  void tell(AccessFacts& facts) const noexcept;

  std::string upstream, node_name, pick_reason;
  base::Address node;
  decltype(AccessFacts::earlier) earlier;
  std::uint32_t earlier_count = 0;
};

class Exchange final : io::TimerEvents {
 public:
  explicit Exchange(Core& core);

  // From the client's stream. `begin` may answer at once.
  void begin(ClientConnection& client, http::StreamId stream, const http::Head& head) noexcept;
  void on_request_body(base::Buf bytes) noexcept;
  void on_request_trailers(std::span<const http::Field> fields) noexcept;
  void on_request_end() noexcept;
  // Its stream is dead; the codec may have answered by itself (Reset::told). `lost`: why we broke
  // off, where we did.
  void on_client_gone(const http::Reset& reset, request::Reason lost) noexcept;
  void on_client_writable() noexcept;

  // From the attempts' streams.
  void on_ready(Attempt& attempt) noexcept;
  void on_head(Attempt& attempt, const http::Head& head) noexcept;
  void on_body(Attempt& attempt, base::Buf bytes) noexcept;
  void on_trailers(Attempt& attempt, std::span<const http::Field> fields) noexcept;
  void on_end(Attempt& attempt) noexcept;
  // Its stream is dead already. `begun`: a byte of an answer had come.
  void on_failed(Attempt& attempt, const base::Error& error, bool begun) noexcept;
  void on_node_writable() noexcept;

  // Breaks it off, with this answer if none has begun: its Config is too old, a limit has come.
  void expire(request::Reason reason = request::Reason::kOurLimit) noexcept;
  [[nodiscard]] bool wake() noexcept;  // from the queue; false: it still waits

  [[nodiscard]] http::StreamId stream() const noexcept { return stream_; }
  [[nodiscard]] const ClientConnection* client() const noexcept { return client_; }
  [[nodiscard]] bool idempotent() const noexcept { return idempotent_; }
  [[nodiscard]] request::Summary summary() const noexcept { return rules_.summary(); }
  [[nodiscard]] std::size_t held() const noexcept;  // bytes on their way to nodes
  [[nodiscard]] const Generation* generation() const noexcept { return generation_; }

  Exchange* next = nullptr;  // of the same client connection
  PoolLink<Exchange> pooled;

 private:
  enum class Answer : std::uint8_t { kNone, kInterim, kHead, kEnded };
  static constexpr std::uint64_t kNoBody = ~std::uint64_t{0};
  using Trailers = std::vector<std::pair<std::string, std::string>>;

  void on_time() noexcept override;

  void reset_facts(const http::Head& head) noexcept;
  // exchange_head.cc
  [[nodiscard]] static bool may_upgrade(const Route& route, const http::Head& head) noexcept;
  // How many more of us may pass it on; nothing: as many as like.
  [[nodiscard]] static std::optional<std::uint32_t> hops_left(const http::Head& head) noexcept;
  void write_head(const http::Head& head, const Route& route, std::optional<base::Duration> given,
                  std::optional<std::uint32_t> hops) noexcept;
  [[nodiscard]] base::Buf head_bytes() noexcept;
  [[nodiscard]] std::optional<base::Duration> given_time(const http::Head& head) const noexcept;
  void act(const request::Step& step) noexcept;
  void start(const request::Step& step) noexcept;
  void hand_over(Attempt& attempt) noexcept;
  void send_request_end(Attempt& attempt) noexcept;
  void cannot_repeat() noexcept;
  void ask_client(Window::Taker node) noexcept;
  void ask_node(Attempt& attempt, Window::Taker client) noexcept;
  void on_final_head(Attempt& attempt, const http::Head& head) noexcept;
  void forward_head(const http::Head& head) noexcept;
  void open_tunnel(Attempt& attempt) noexcept;
  void end_tunnel_half() noexcept;  // one side has sent its FIN
  void let_config_go() noexcept;
  void answer(request::Reason reason) noexcept;
  void abort(request::Reason reason) noexcept;
  void cancel(Attempt& attempt) noexcept;
  void leave_queue() noexcept;
  void finish() noexcept;
  // exchange_log.cc
  void keep_answer_head(const base::Buf& head) noexcept;
  void find_nodes(const request::Summary& summary, AccessFacts& facts,
                  KeptFacts::PickText& pick) const noexcept;
  void keep_nodes() noexcept;
  void tell_log() noexcept;
  void arm() noexcept;
  [[nodiscard]] request::Stall stall() const noexcept;
  [[nodiscard]] request::Place place() noexcept;
  [[nodiscard]] Attempt* carrier() noexcept;  // the attempt that gets the request's body

  Core& core_;
  std::unique_ptr<io::Timer> timer_;
  base::TimePoint armed_ = base::TimePoint::max();
  ClientConnection* client_ = nullptr;  // nothing: not in use
  http::StreamId stream_ = http::StreamId::kNone;
  Generation* generation_ = nullptr;
  std::uint32_t upstream_ = 0;
  Rules rules_{*this};
  std::array<Attempt, request::Exchange::kAttempts> attempts_;
  base::TimePoint asked_{};       // its first byte came
  base::TimePoint began_{};       // its head was whole
  base::Address client_address_;  // behind trusted proxies

  base::Buf answer_head_;       // as the client gets it, where the log wants it
  base::Buf head_;              // the request's head as nodes get it
  std::size_t time_place_ = 0;  // in it, of the digits that tell how much time is left; 0: none
  std::int64_t time_told_ = 0;  // in milliseconds
  http::OutHead facts_;
  BodyStore store_;
  std::unique_ptr<Trailers> trailers_;
  std::unique_ptr<KeptFacts> kept_;  // of a tunnel that is logged
  Window window_;                    // of the request
  std::uint64_t body_seen_ = 0;      // of the request
  // Of the client's bytes (ClientConnection::used, written): where the request began, the answer,
  // and the answer's body.
  std::uint64_t in_from_ = 0;
  std::uint64_t out_from_ = 0;
  std::uint64_t body_from_ = 0;
  std::string_view detail_;                          // of a refusal; static
  std::uint16_t status_ = 0;                         // of the answer, once it has begun
  request::Reason reason_ = request::Reason::kNone;  // of an answer of ours, or of breaking off
  bool ruled_ = false;                               // it came as far as the rules
  std::uint8_t hedged_ = 2;                          // the attempt that is a hedge; 2: none
  Answer answer_ = Answer::kNone;
  bool request_ended_ = false;
  bool queued_ = false;  // it waits for a node
  bool tunnel_ = false;
  bool answer_ended_ = false;  // of a tunnel: the node has sent its FIN
  bool idempotent_ = false;
  bool repeatable_ = true;   // the store has all of the body so far
  bool old_client_ = false;  // HTTP/1.0: gets no interim heads
  bool takes_trailers_ = false;
  bool trusted_ = false;  // the peer, in what it says of others
  bool cut_ = false;      // before the end: what is not sent yet never will be
};

}  // namespace steelyard::proxy
