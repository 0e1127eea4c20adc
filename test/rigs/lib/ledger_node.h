// The ledger's back end: answers each request with its nonce, the node's name and a body digest,
// and writes down what it saw before it answers (so a kill loses nothing).
//
// GET answers with `X-Ledger-Size` bytes that follow from the nonce; POST with a short body and the
// digest of what came. `POST /control` with lines `key=value` changes how it behaves:
//   delay_ms=N      answers come N ms late
//   die_after=N     kills itself (SIGKILL) after N bytes of the body of a GET's answer
//   misbehave=NAME  see bad_script.h; `none` ends it
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "test/rigs/lib/bad_script.h"
#include "test/rigs/lib/history.h"
#include "test/rigs/lib/http.h"
#include "test/rigs/lib/net.h"
#include "test/rigs/lib/payload.h"

namespace steelyard::rigs {

struct LedgerNodeOptions {
  std::string name = "node";
  Endpoint at;
  std::string log;        // file of its events, appended to; empty: none
  std::string cases;      // http_cases.jsonl, for misbehave=cases
  std::string misbehave;  // from the start; empty: not at all
};

class LedgerNode {
 public:
  LedgerNode(Loop& loop, LedgerNodeOptions options);
  LedgerNode(const LedgerNode&) = delete;
  LedgerNode& operator=(const LedgerNode&) = delete;
  ~LedgerNode();
  [[nodiscard]] bool up() const { return listener_ >= 0; }
  [[nodiscard]] std::uint16_t port() const { return port_of(listener_); }

 private:
  struct Session {
    std::shared_ptr<Wire> wire;
    MessageReader reader{MessageReader::Kind::kRequest};
    Head head;
    Digest digest;
    std::string control;   // the body of a /control request
    bool spoiled = false;  // misbehaved: what comes now is not read as requests
  };

  void accept();
  void begin(Session& session, const Head& head);
  void body(Session& session, std::string_view bytes);
  void finish(std::uint64_t key);
  void answer(Session& session);
  void answer_control(Session& session);
  void drop(std::uint64_t key);
  void log(const Served& event) const;

  Loop& loop_;
  LedgerNodeOptions options_;
  BadScript script_;
  int listener_ = -1, log_ = -1;
  std::uint64_t sessions_made_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  int delay_ms_ = 0;
  std::int64_t die_after_ = -1;
};

}  // namespace steelyard::rigs
