// NodePools: the idle connections of one worker, by node: last in, first out, bounded, each gone
// before the node would close it (idle_life.h) and when it is too old or has served enough.
//
// Keyed by NodeRef: a slot's next owner never gets the former's connections. A new Table closes the
// pools of nodes that left it or changed their address, and leaves the others alone.
// `WorkerCells::pooled` tells control how many are kept.
//
// Careful callers (requests that must not be repeated) get only connections that have been idle for
// less than half of what they are kept: whether the node is about to close one cannot be seen.
// After a node was silent for a head time-out, `distrust` closes what has given no answer since.
//
// Cost: a few stores; no allocation once a slot has been seen.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "steelyard/model/slots.h"
#include "steelyard/model/table.h"
#include "steelyard/proxy/due_list.h"
#include "steelyard/proxy/idle_life.h"
#include "steelyard/proxy/metrics.h"
#include "steelyard/proxy/node_connection.h"
#include "steelyard/proxy/options.h"

namespace steelyard::proxy {

class NodePools {
 public:
  NodePools(const model::Slots& slots, std::uint32_t worker, WorkerMetrics& metrics);

  void adopt(const model::Table& table);
  // The connection used last; it leaves the pool.
  [[nodiscard]] NodeConnection* take(model::NodeRef node, bool careful, const PoolOptions& options,
                                     base::TimePoint now) noexcept;
  // False: the node left, or nothing may be kept.
  bool put(NodeConnection& connection, const PoolOptions& options, base::TimePoint now) noexcept;
  void remove(NodeConnection& connection) noexcept;  // it broke while idle
  void close_all() noexcept;

  // What answers and closings tell about the node.
  void told(model::NodeRef node, base::Duration keep_alive) noexcept;
  void closed_by_node(model::NodeRef node, base::TimePoint idle_since,
                      base::TimePoint now) noexcept;
  void distrust(model::NodeRef node, base::TimePoint asked) noexcept;  // silent since `asked`

  [[nodiscard]] std::size_t idle() const noexcept { return idle_; }
  // When the next one may be due; never later than that.
  [[nodiscard]] base::TimePoint next() const noexcept { return next_; }
  void retire(const PoolOptions& options, base::TimePoint now) noexcept;

 private:
  using Idle = DueList<NodeConnection, &NodeConnection::in_pool>;
  struct Pool {
    model::NodeRef node;
    base::Address address;
    std::uint64_t table = 0;  // the last adopted one that had it
    Idle idle;                // the longest idle first
    IdleLife life;
  };
  [[nodiscard]] Pool* find(model::NodeRef node) noexcept;
  void unlink(Pool& pool, NodeConnection& connection) noexcept;
  void empty(Pool& pool) noexcept;

  const model::Slots& slots_;
  std::uint32_t worker_;
  WorkerMetrics& metrics_;
  std::uint64_t table_ = 0;                   // how many were adopted
  std::vector<std::unique_ptr<Pool>> pools_;  // by slot
  std::size_t idle_ = 0;                      // connections kept
  base::TimePoint next_ = base::TimePoint::max();
};

}  // namespace steelyard::proxy
