#include "steelyard/proxy/node_pool.h"

#include <algorithm>

#include "steelyard/base/prefetch.h"

namespace steelyard::proxy {

using base::Duration;
using base::TimePoint;

NodePools::NodePools(const model::Slots& slots, std::uint32_t worker, WorkerMetrics& metrics)
    : slots_(slots), worker_(worker), metrics_(metrics), pools_(slots.capacity()) {}

void NodePools::adopt(const model::Table& table) {
  ++table_;
  for (const auto& upstream : table.upstreams) {
    for (const auto& node : upstream.nodes) {
      auto& pool = pools_[node.ref.slot];
      if (pool == nullptr) pool = std::make_unique<Pool>();
      if (pool->node != node.ref || pool->address != node.address) {
        empty(*pool);
        pool->node = node.ref;
        pool->address = node.address;
        pool->life = {};
      }
      pool->table = table_;
    }
  }
  for (auto& pool : pools_) {
    if (pool != nullptr && pool->table != table_) empty(*pool);
  }
}

NodePools::Pool* NodePools::find(model::NodeRef node) noexcept {
  if (node.slot >= pools_.size()) return nullptr;
  Pool* const pool = pools_[node.slot].get();
  return pool != nullptr && pool->node == node ? pool : nullptr;
}

void NodePools::unlink(Pool& pool, NodeConnection& connection) noexcept {
  pool.idle.remove(connection);
  --idle_;
  slots_.cells(pool.node, worker_).pooled.set(pool.idle.size());
}

NodeConnection* NodePools::take(model::NodeRef node, bool careful, const PoolOptions& options,
                                TimePoint now) noexcept {
  Pool* const pool = find(node);
  if (pool == nullptr || pool->idle.empty()) return nullptr;
  NodeConnection& connection = *pool->idle.last();
  // All others have been idle for longer.
  const Duration life = pool->life.limit(options.idle_timeout, now);
  if (now - connection.in_pool.since >= (careful ? life / 2 : life)) return nullptr;
  unlink(*pool, connection);
  // The next request's: what the object names now, the object behind it for the time after.
  if (const NodeConnection* const next = pool->idle.last()) {
    next->prefetch_rest();
    base::prefetch(next->in_pool.before);
  }
  return &connection;
}

bool NodePools::put(NodeConnection& connection, const PoolOptions& options,
                    TimePoint now) noexcept {
  Pool* const pool = find(connection.node());
  if (pool == nullptr || pool->table != table_ || pool->address != connection.address() ||
      options.connections == 0) {
    return false;
  }
  const Duration life = pool->life.limit(options.idle_timeout, now);
  if (life <= Duration::zero() || connection.worn(options, now)) return false;
  // The one idle longest makes room: it is the likeliest to be closed under our feet.
  if (pool->idle.size() >= options.connections) {
    NodeConnection& oldest = *pool->idle.first();
    unlink(*pool, oldest);
    metrics_.pool_evicted.add(1);
    oldest.close_idle();
  }
  pool->idle.push(connection, now);
  ++idle_;
  next_ = std::min(next_, pool->idle.next(life));  // `life` may have become shorter
  slots_.cells(pool->node, worker_).pooled.set(pool->idle.size());
  return true;
}

void NodePools::remove(NodeConnection& connection) noexcept {
  if (Pool* const pool = find(connection.node()); pool != nullptr && pool->idle.holds(connection)) {
    unlink(*pool, connection);
  }
}

void NodePools::empty(Pool& pool) noexcept {
  while (NodeConnection* const connection = pool.idle.first()) {
    unlink(pool, *connection);
    connection->close_idle();
  }
}

void NodePools::close_all() noexcept {
  for (auto& pool : pools_) {
    if (pool != nullptr) empty(*pool);
  }
}

void NodePools::told(model::NodeRef node, Duration keep_alive) noexcept {
  if (Pool* const pool = find(node)) pool->life.told(keep_alive);
}

void NodePools::closed_by_node(model::NodeRef node, TimePoint idle_since, TimePoint now) noexcept {
  if (Pool* const pool = find(node)) pool->life.closed(idle_since, now);
}

void NodePools::distrust(model::NodeRef node, TimePoint asked) noexcept {
  Pool* const pool = find(node);
  if (pool == nullptr) return;
  while (NodeConnection* const connection = pool->idle.first()) {
    if (connection->in_pool.since > asked) return;
    unlink(*pool, *connection);
    metrics_.pool_distrusted.add(1);
    connection->kill();
  }
}

// The lists are short, but there is one a node: all are looked at only when one may be due.
void NodePools::retire(const PoolOptions& options, TimePoint now) noexcept {
  if (now < next_) return;
  next_ = TimePoint::max();
  for (auto& pool : pools_) {
    if (pool == nullptr || pool->idle.empty()) continue;
    const Duration life = pool->life.limit(options.idle_timeout, now);
    while (pool->idle.next(life) <= now) {
      NodeConnection& connection = *pool->idle.first();
      unlink(*pool, connection);
      metrics_.pool_retired.add(1);
      connection.close_idle();
    }
    next_ = std::min(next_, pool->idle.next(life));
  }
}

}  // namespace steelyard::proxy
