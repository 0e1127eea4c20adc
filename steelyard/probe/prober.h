// Prober: asks nodes, on a schedule, how they are: active checks (HTTP or TCP) and score collection
// → samples.
//
// A target is one question to one node, named by (node, kind). `set_targets` takes the whole wanted
// list: targets that are the same keep their schedule and the question in flight; changed or gone
// ones are cancelled without a sample. The first question of a target comes at a moment spread over
// one interval by the seed, the next ones every interval ±10 %, measured from start to start; a
// question never overlaps its target's former one. At most `max_in_flight` questions are open,
// others wait their turn (their deadline starts when they are sent).
// No redirect is followed; answers above 64 KiB fail; nothing shares connections with the data
// path. Cost: one timer for all targets; a heap of due times, O(log n) a question. Threads: the
// reactor's; samples are delivered from its turn. The sink may call `set_targets` from inside.
// Lifetime: reactor and sink outlive the Prober.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/base/time.h"
#include "steelyard/io/reactor.h"
#include "steelyard/model/node_ref.h"
#include "steelyard/model/sample.h"

namespace steelyard::probe {

enum class Kind : std::uint8_t { kHttpCheck, kTcpCheck, kScore };

struct Target {
  model::NodeRef node;
  Kind kind = Kind::kHttpCheck;
  base::Address address;  // with the port to ask
  std::string path;       // of kHttpCheck and kScore
  std::string host;       // Host header; empty: the address
  base::Duration interval = std::chrono::seconds(5);
  base::Duration timeout = std::chrono::seconds(2);
  std::uint16_t status_from = 200,
                status_to =
                    399;  // of kHttpCheck: what passes; 503 is "not ready" where it does not
  friend bool operator==(const Target&, const Target&) = default;
};

class SampleSink {
 public:
  virtual void on_check(const model::CheckSample& sample) noexcept = 0;
  virtual void on_report(const model::ReportSample& sample) noexcept = 0;

 protected:
  ~SampleSink() = default;
};

struct ProberOptions {
  std::uint64_t seed = 1;
  std::uint32_t max_in_flight = 256;
};

class ProberCore;

class Prober {
 public:
  Prober(io::Reactor& reactor, SampleSink& sink, const ProberOptions& options = {});
  ~Prober();

  void set_targets(std::vector<Target> targets);
  // Asks every target of this node at the next turn, whatever its schedule (a node that traffic
  // found dead).
  void ask_soon(model::NodeRef node);
  [[nodiscard]] std::size_t targets() const noexcept;
  [[nodiscard]] std::size_t in_flight() const noexcept;

 private:
  std::unique_ptr<ProberCore> core_;
};

}  // namespace steelyard::probe
