// ListenerSet: listening sockets by (address, worker), kept as long as the address is configured.
//
// Asked for again, it is the same socket, so that its queue is never reset. With port 0 all workers
// of an address share the port that the kernel chose. An address that another program or another
// balancer serves is refused. One thread.
#pragma once

#include <map>
#include <span>

#include "steelyard/base/address.h"
#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

class ListenerSet {
 public:
  // In place of a worker: the one socket of the admin API, which nobody shares.
  static constexpr unsigned kAdmin = 0xffffffffU;

  // A descriptor of the caller's own; opens the socket when there is none.
  [[nodiscard]] base::Result<Fd> get(const base::Address& address, unsigned worker);
  [[nodiscard]] bool has(const base::Address& address, unsigned worker) const;
  void put(const base::Address& address, unsigned worker, Fd socket);  // made elsewhere
  void keep_only(std::span<const base::Address> configured);
  [[nodiscard]] std::size_t size() const noexcept;

  template <typename F>
  void each(F visit) const {  // visit(address, worker, fd)
    for (const auto& [address, workers] : traffic_) {
      for (const auto& [worker, fd] : workers) visit(address, worker, fd);
    }
    for (const auto& [address, fd] : admin_) visit(address, kAdmin, fd);
  }

 private:
  using Workers = std::map<unsigned, Fd>;
  static base::Result<Fd> open(const base::Address& address, const Workers& workers);

  std::map<base::Address, Workers> traffic_;
  std::map<base::Address, Fd> admin_;
};

}  // namespace steelyard::io
