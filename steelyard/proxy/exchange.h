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
// Pooled by Core: never destroyed while the worker lives. Cost: no allocation, but for trailers.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/http/codec.h"
#include "steelyard/io/reactor.h"
#include "steelyard/proxy/attempt.h"
#include "steelyard/proxy/body_store.h"
#include "steelyard/proxy/generations.h"
#include "steelyard/request/exchange.h"

namespace steelyard::proxy {

class ClientConnection;
class Core;

class Exchange final : io::TimerEvents {
 public:
  explicit Exchange(Core& core);

  // From the client's stream. `begin` may answer at once.
  void begin(ClientConnection& client, http::StreamId stream, const http::Head& head) noexcept;
  void on_request_body(base::Buf bytes) noexcept;
  void on_request_trailers(std::span<const http::Field> fields) noexcept;
  void on_request_end() noexcept;
  void on_client_gone() noexcept;  // its stream is dead
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

  void expire() noexcept;  // breaks it off: its Config is too old, or the drain's limit has come

  [[nodiscard]] http::StreamId stream() const noexcept { return stream_; }
  [[nodiscard]] const Generation* generation() const noexcept { return generation_; }

  Exchange* next = nullptr;  // of the same client connection, or of the free ones

 private:
  enum class Answer : std::uint8_t { kNone, kInterim, kHead, kEnded };
  using Trailers = std::vector<std::pair<std::string, std::string>>;

  void on_time() noexcept override;

  void reset_facts(const http::Head& head) noexcept;
  void write_head(const http::Head& head) noexcept;
  void act(const request::Step& step) noexcept;
  void start(const request::Step& step) noexcept;
  void hand_over(Attempt& attempt) noexcept;
  void send_request_end(Attempt& attempt) noexcept;
  void cannot_repeat() noexcept;
  void ask_client() noexcept;
  void ask_node(Attempt& attempt) noexcept;
  void forward_head(const http::Head& head) noexcept;
  void answer(request::Reason reason) noexcept;
  void abort() noexcept;
  void cancel(Attempt& attempt) noexcept;
  void finish() noexcept;
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
  request::Exchange rules_;
  std::array<Attempt, request::Exchange::kAttempts> attempts_;
  base::TimePoint began_{};

  base::Buf head_;  // the request's head as nodes get it
  http::OutHead facts_;
  BodyStore store_;
  std::unique_ptr<Trailers> trailers_;
  std::size_t owed_ = 0;         // request bytes whose credit was not yet given back
  std::uint64_t body_seen_ = 0;  // of the request
  std::uint16_t status_ = 0;     // of the answer, once it has begun
  Answer answer_ = Answer::kNone;
  bool request_ended_ = false;
  bool idempotent_ = false;
  bool repeatable_ = true;   // the store has all of the body so far
  bool old_client_ = false;  // HTTP/1.0: gets no interim heads
  bool takes_trailers_ = false;
};

}  // namespace steelyard::proxy
