// NodePools: the idle connections of one worker, by node: last in, first out, bounded, each gone
// after the idle time.
//
// Keyed by NodeRef: a slot's next owner never gets the former's connections. A new Table closes the
// pools of nodes that left it or changed their address. `WorkerCells::pooled` tells control how
// many are kept. Cost: a few stores; no allocation once a slot has been seen.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "steelyard/model/slots.h"
#include "steelyard/model/table.h"
#include "steelyard/proxy/due_list.h"
#include "steelyard/proxy/node_connection.h"

namespace steelyard::proxy {

class NodePools {
 public:
  NodePools(const model::Slots& slots, std::uint32_t worker);

  void adopt(const model::Table& table);
  // The connection used last; it leaves the pool.
  [[nodiscard]] NodeConnection* take(model::NodeRef node) noexcept;
  // False: the node left, or nothing may be kept.
  bool put(NodeConnection& connection, std::uint32_t most, base::TimePoint now) noexcept;
  void remove(NodeConnection& connection) noexcept;  // it broke while idle
  void close_all() noexcept;

  [[nodiscard]] std::size_t idle() const noexcept { return waiting_.size(); }
  [[nodiscard]] base::TimePoint next(base::Duration idle_timeout) const noexcept {
    return waiting_.next(idle_timeout);
  }
  void retire(base::Duration idle_timeout, base::TimePoint now) noexcept;

 private:
  using Idle = DueList<NodeConnection, &NodeConnection::in_pool>;
  struct Pool {
    model::NodeRef node;
    base::Address address;
    std::uint64_t table = 0;  // the last adopted one that had it
    Idle idle;
  };
  [[nodiscard]] Pool* find(model::NodeRef node) noexcept;
  void unlink(Pool& pool, NodeConnection& connection) noexcept;
  void empty(Pool& pool) noexcept;

  const model::Slots& slots_;
  std::uint32_t worker_;
  std::uint64_t table_ = 0;                                // how many were adopted
  std::vector<std::unique_ptr<Pool>> pools_;               // by slot
  DueList<NodeConnection, &NodeConnection::due> waiting_;  // all of them, the longest idle first
};

}  // namespace steelyard::proxy
