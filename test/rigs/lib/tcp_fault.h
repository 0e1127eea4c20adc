// A TCP relay that does to connections what networks and broken peers do. What it does is a plan,
// one a direction; plans can be changed while it runs, for new connections or for all.
//
// A plan is text, parts divided by commas, applied to both directions unless `up.` (client to
// server) or `down.` stands before it:
//   delay=MS jitter=MS   bytes come later (order is kept)
//   rate=BYTES           bytes a second
//   split=N              writes of at most N bytes, one a millisecond apart or as `gap=MS` says
//   stop=K rst=K fin=K   after K bytes: nothing more, a reset of both sides, an end of this
//   direction hole                 bytes are taken and thrown away corrupt=K            the byte at
//   K is changed deaf                 never reads accept=MS            (no direction) connections
//   are taken up that much later closed               (no direction) new connections are reset at
//   once
// "" is a plain relay. Threads: its loop's.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "steelyard/base/rng.h"

#include "test/rigs/lib/net.h"

namespace steelyard::rigs {

struct WayPlan {
  int delay_ms = 0, jitter_ms = 0, gap_ms = 1;
  std::uint64_t rate = 0, split = 0;
  std::optional<std::uint64_t> stop, rst, fin, corrupt;
  bool hole = false, deaf = false;
};

struct FaultPlan {
  WayPlan up, down;
  int accept_ms = 0;
  bool closed = false;
};
// Nothing when a part is unknown.
[[nodiscard]] std::optional<FaultPlan> plan_of(const std::string& text);

class TcpFault {
 public:
  TcpFault(Loop& loop, const Endpoint& at, const Endpoint& to);
  TcpFault(const TcpFault&) = delete;
  TcpFault& operator=(const TcpFault&) = delete;
  ~TcpFault();
  [[nodiscard]] bool up() const { return listener_ >= 0; }
  [[nodiscard]] std::uint16_t port() const { return at_.port; }

  void plan(const FaultPlan& plan, bool also_open);  // for new connections, and open ones
  void reset_all();
  void listen(bool wanted);  // off: connects are refused; on: the same port again
  [[nodiscard]] std::size_t open() const { return pairs_.size(); }
  [[nodiscard]] std::uint64_t accepted() const { return made_; }

 private:
  struct Way {
    WayPlan plan;
    std::uint64_t passed = 0;  // bytes read so far
    std::deque<std::pair<Time, std::string>> queue;
    Time last{};  // when what was queued last is due
    bool pumping = false, ended = false, dead = false;
  };
  struct Pair {
    std::shared_ptr<Wire> client, server;
    Way up, down;
  };

  void accept();
  void adopt(int fd);
  void take(std::uint64_t key, bool up, std::string_view bytes);
  void ended(std::uint64_t key, bool up, int error);
  void pump(std::uint64_t key, bool up);
  void put(Way& way, std::string_view bytes);
  void drop(std::uint64_t key, bool hard);

  Loop& loop_;
  Endpoint at_, to_;
  FaultPlan plan_;
  base::Rng rng_{1};
  int listener_;
  std::uint64_t made_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Pair>> pairs_;
};

}  // namespace steelyard::rigs
