#include "steelyard/io/listener_set.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "steelyard/io/errors.h"
#include "steelyard/io/socket.h"

namespace steelyard::io {
namespace {

base::Result<Fd> copy_of(const Fd& fd, const base::Address& address) {
  Fd copy = duplicate(fd);
  if (!copy.valid()) {
    return system_error(errno, "copy the listening socket of " + address.to_text());
  }
  return copy;
}

}  // namespace

base::Result<Fd> ListenerSet::get(const base::Address& address, unsigned worker) {
  if (worker == kAdmin) {
    auto found = admin_.find(address);
    if (found == admin_.end()) {
      auto made = listen_tcp(address, {.backlog = 64, .reuse_port = false});
      if (!made) return made;
      found = admin_.emplace(address, std::move(*made)).first;
    }
    return copy_of(found->second, address);
  }
  auto& workers = traffic_[address];
  auto found = workers.find(worker);
  if (found == workers.end()) {
    auto made = open(address, workers);
    if (!made) {
      if (workers.empty()) traffic_.erase(address);
      return made;
    }
    found = workers.emplace(worker, std::move(*made)).first;
  }
  return copy_of(found->second, address);
}

base::Result<Fd> ListenerSet::open(const base::Address& address, const Workers& workers) {
  if (workers.empty() && address.port() != 0) {
    // The kernel lets processes of one user share a port; two balancers that do not know of each
    // other must not. A socket that does not share finds out.
    if (auto alone = listen_tcp(address, {.backlog = 1, .reuse_port = false}); !alone) return alone;
  }
  if (address.port() != 0 || workers.empty()) return listen_tcp(address);
  const auto bound = local_address(workers.begin()->second);
  if (!bound) return bound.error();
  return listen_tcp(*bound);
}

bool ListenerSet::has(const base::Address& address, unsigned worker) const {
  if (worker == kAdmin) return admin_.contains(address);
  const auto at = traffic_.find(address);
  return at != traffic_.end() && at->second.contains(worker);
}

void ListenerSet::put(const base::Address& address, unsigned worker, Fd socket) {
  if (worker == kAdmin) {
    admin_.insert_or_assign(address, std::move(socket));
  } else {
    traffic_[address].insert_or_assign(worker, std::move(socket));
  }
}

void ListenerSet::keep_only(std::span<const base::Address> configured) {
  const auto gone = [&](const auto& entry) {
    return std::find(configured.begin(), configured.end(), entry.first) == configured.end();
  };
  std::erase_if(traffic_, gone);
  std::erase_if(admin_, gone);
}

std::size_t ListenerSet::size() const noexcept {
  std::size_t out = admin_.size();
  for (const auto& [address, workers] : traffic_) out += workers.size();
  return out;
}

}  // namespace steelyard::io
