// What the reactor's conformance tests need of a back end: sockets whose other end a test moves by
// hand.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steelyard/io/epoll.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/sim.h"
#include "steelyard/io/uring.h"

namespace steelyard::io::conformance {

using namespace std::chrono_literals;

// The other end of a connection.
class Raw {
 public:
  virtual ~Raw() = default;
  virtual std::size_t send(std::string_view text) = 0;  // what fits now
  virtual void end() = 0;
  virtual void reset() = 0;
  virtual std::string read(std::size_t most) = 0;  // what is there now
  virtual bool ended() = 0;                        // FIN seen, all read
  virtual bool was_reset() = 0;
};

class Rig {
 public:
  virtual ~Rig() = default;
  virtual Reactor& reactor() = 0;
  virtual std::pair<Fd, std::unique_ptr<Raw>> pair() = 0;
  virtual Fd listener(Address& at) = 0;
  virtual std::unique_ptr<Raw> dial(const Address& to) = 0;
  virtual Address refusing() = 0;
  virtual Address silent() = 0;  // never answers
  virtual std::size_t outstanding() = 0;

  // Turns until `done`; false when that does not happen in (real or virtual) 20 s.
  bool until(const std::function<bool()>& done);
  // Turns until nothing more can be expected to happen.
  void settle();
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<Rig>()> make;
};

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }
[[nodiscard]] std::vector<Backend> backends();
[[nodiscard]] std::unique_ptr<Rig> make_epoll_rig();
[[nodiscard]] std::unique_ptr<Rig> make_uring_rig(const UringOptions& options);
[[nodiscard]] std::unique_ptr<Rig> make_sim_rig(std::uint64_t seed);

// Whether a call into io runs at the moment: no callback may (R1).
class Calls {
 public:
  template <typename F>
  decltype(auto) operator()(F call) {
    struct Guard {
      explicit Guard(int& d) : depth(d) { ++depth; }
      ~Guard() { --depth; }
      int& depth;
    } guard(depth_);
    return call();
  }
  [[nodiscard]] bool inside() const { return depth_ > 0; }

 private:
  int depth_ = 0;
};

// Records what a stream says; `log` holds "open", "bytes", "end", "failed CODE" with equal
// neighbours joined.
class Recorder final : public StreamEvents {
 public:
  void on_open(const PeerInfo& peer) noexcept override;
  void on_bytes(Buf bytes) noexcept override;
  void on_end() noexcept override;
  void on_sent(std::size_t count) noexcept override;
  void on_failed(Error error) noexcept override;

  [[nodiscard]] std::string history() const;

  std::unique_ptr<Stream> stream;
  PeerInfo peer;
  bool opened = false;
  bool ended = false;
  bool failed = false;
  bool after_failure = false;  // anything came after on_failed
  bool reentered = false;
  std::string bytes;
  std::size_t sent = 0;
  std::size_t granted = 0;
  bool over_credit = false;
  Error error;
  std::vector<std::string> log;
  Calls* calls = nullptr;
  std::function<void()> when_open;
  std::function<void()> when_bytes;
  std::function<void()> when_end;
  std::function<void()> when_sent;

  void grant(std::size_t count) {
    granted += count;
    stream->grant(count);
  }

 private:
  void note(std::string what);
};

// A text of any length in which every place differs from its neighbours.
[[nodiscard]] std::string pattern(std::size_t size, std::uint64_t seed);

}  // namespace steelyard::io::conformance
