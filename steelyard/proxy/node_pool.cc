#include "steelyard/proxy/node_pool.h"

namespace steelyard::proxy {

NodePools::NodePools(const model::Slots& slots, std::uint32_t worker)
    : slots_(slots), worker_(worker), pools_(slots.capacity()) {}

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
  waiting_.remove(connection);
  slots_.cells(pool.node, worker_).pooled.set(pool.idle.size());
}

NodeConnection* NodePools::take(model::NodeRef node) noexcept {
  Pool* const pool = find(node);
  if (pool == nullptr || pool->idle.empty()) return nullptr;
  NodeConnection& connection = *pool->idle.last();
  unlink(*pool, connection);
  return &connection;
}

bool NodePools::put(NodeConnection& connection, std::uint32_t most, base::TimePoint now) noexcept {
  Pool* const pool = find(connection.node());
  if (pool == nullptr || pool->table != table_ || pool->address != connection.address() ||
      most == 0) {
    return false;
  }
  // The one idle longest makes room: it is the likeliest to be closed under our feet.
  if (pool->idle.size() >= most) {
    NodeConnection& oldest = *pool->idle.first();
    unlink(*pool, oldest);
    oldest.close_idle();
  }
  pool->idle.push(connection, now);
  waiting_.push(connection, now);
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

void NodePools::retire(base::Duration idle_timeout, base::TimePoint now) noexcept {
  while (!waiting_.empty() && waiting_.next(idle_timeout) <= now) {
    NodeConnection& connection = *waiting_.first();
    remove(connection);
    connection.close_idle();
  }
}

}  // namespace steelyard::proxy
