// The back end of the goals: cheap, on a thread of its own, so that the proxy before it is what is
// measured.
//
//   GET  /N                 N bytes of the pattern, from position 0
//   POST /N                 N bytes; the body must be the pattern from 0, else 500
//   …    /ledger/ID/NONCE/N the same from position NONCE, noted in the ledger; X-Nonce in the
//   answer
//
// With `servers` it is a machine with so many processors and a fixed service time: what comes while
// all are busy waits in order, however long.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test/rigs/goals/count.h"
#include "test/rigs/lib/loop.h"

namespace steelyard::rigs {

struct NodeOptions {
  int servers = 0;  // 0: answers at once
  Span service{};
  CountLedger* ledger = nullptr;
  int cpu = -1;  // the processor it keeps to
};

class QuickNode {
 public:
  explicit QuickNode(const NodeOptions& options);
  QuickNode(const QuickNode&) = delete;
  QuickNode& operator=(const QuickNode&) = delete;
  ~QuickNode();
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint64_t served() const { return served_; }

 private:
  struct Session {
    int fd = -1;
    std::uint32_t generation = 0;
    std::string partial;     // of a head that has not come whole
    std::string nonce_text;  // as it came
    std::uint64_t id = 0, nonce = 0, size = 0;
    std::uint64_t body_left = 0, body_at = 0;  // of the request
    std::string head_out;
    std::uint64_t out_left = 0, out_at = 0;  // of the answer's body
    bool ledger = false, body_ok = true, close_after = false, whole = false, writing = false;
  };
  struct Due {
    Time at;
    int fd;
    std::uint32_t generation;
  };

  void run();
  void accept();
  void ready(Session& session, std::uint32_t events);
  bool take(Session& session, std::string_view bytes);
  bool read_head(Session& session, std::string_view head);
  bool requested(Session& session);
  bool answer(Session& session);
  bool flush(Session& session);
  void drop(Session& session);
  void serve_due(Time now);

  NodeOptions options_;
  int epoll_, listener_, stop_;
  std::uint16_t port_;
  std::uint32_t generations_ = 0;
  std::vector<std::unique_ptr<Session>> sessions_;  // by descriptor
  std::vector<Time> free_;                          // when each server is free again
  std::deque<Due> due_;                             // in order, since all take equally long
  std::string buffer_;
  std::atomic<std::uint64_t> served_{0};
  std::thread thread_;
};

void pin_this_thread(int cpu);  // < 0: does nothing
// Wakes when asked to, not up to 50 µs later.
void exact_timers();

}  // namespace steelyard::rigs
