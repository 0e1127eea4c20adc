// The ledger's client: a steady open-loop load over keep-alive connections. Requests are due at
// fixed times, whatever the answers do; each has a unique id, a random nonce and a deadline, and
// each outcome is kept.
//
// Runs on one loop; `totals` may be read from any thread.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/base/rng.h"

#include "test/rigs/lib/history.h"
#include "test/rigs/lib/http.h"
#include "test/rigs/lib/net.h"
#include "test/rigs/lib/payload.h"

namespace steelyard::rigs {

struct LedgerClientOptions {
  Endpoint to;
  double rate = 500;    // requests a second
  double post = 0.25;   // part of them
  double large = 0.02;  // part of them with 64 KiB, the others up to `usual` bytes
  std::size_t usual = 2048;
  std::size_t connections = 128;  // at most; later requests wait, their time runs
  Span deadline = std::chrono::seconds(10);
  std::uint64_t seed = 1;
  std::uint64_t first_id = 1;
  std::string host = "ledger.example";
};

class LedgerClient {
 public:
  struct Totals {
    std::atomic<std::uint64_t> sent{0}, good{0}, bad{0};
  };
  LedgerClient(Loop& loop, LedgerClientOptions options);
  LedgerClient(const LedgerClient&) = delete;
  LedgerClient& operator=(const LedgerClient&) = delete;

  void start();
  void rate(double per_second);  // from now on; 0: none
  // No more requests; calls `done` when the last outcome is there.
  void finish(std::function<void()> done);
  void hang_up();  // closes all connections; on the loop's thread, or when it runs no more
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::vector<Asked>& asked() { return asked_; }

 private:
  struct Request {
    Asked asked;
    std::uint64_t nonce = 0, body_digest = 0;
    std::size_t size = 0;  // of the answer
    std::string bytes;
  };
  struct Session {
    std::shared_ptr<Wire> wire;
    MessageReader reader{MessageReader::Kind::kAnswer};
    std::unique_ptr<Request> request;
    Head head;
    Digest digest;
    std::size_t last = 0;  // in `asked_`, the request before
    bool begun = false;    // a byte of the answer has come
    bool keep = true;
    Loop::Timer deadline;
  };

  void due();
  void issue(std::unique_ptr<Request> request);
  void dial(std::unique_ptr<Request> request);
  void ask(std::uint64_t key, std::unique_ptr<Request> request);
  std::unique_ptr<Request> make(Micros start);
  void on_head(Session& session, const Head& head);
  void on_end(std::uint64_t key);
  void failed(std::uint64_t key, Outcome outcome);
  void ended(std::uint64_t key, int error);
  void settle(Session& session, Outcome outcome);
  void surplus(std::uint64_t key, std::string_view bytes);
  void drop(std::uint64_t key);
  void next();

  Loop& loop_;
  LedgerClientOptions options_;
  base::Rng rng_;
  Totals totals_;
  std::vector<Asked> asked_;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::vector<std::uint64_t> idle_;
  std::deque<std::unique_ptr<Request>> waiting_;
  std::uint64_t sessions_made_ = 0, next_id_;
  Time due_;
  bool finishing_ = false, ticking_ = false;
  std::size_t open_ = 0;  // requests without an outcome
  std::function<void()> done_;
};

}  // namespace steelyard::rigs
