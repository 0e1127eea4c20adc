#include "steelyard/io/provider.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <utility>

#include "steelyard/io/errors.h"
#include "steelyard/io/socket.h"

namespace steelyard::io {

namespace {

class LocalProvider final : public Provider {
 public:
  base::Result<Fd> listener(const base::Address& address, unsigned worker) override {
    auto& workers = sockets_[address];
    auto found = workers.find(worker);
    if (found == workers.end()) {
      auto made = open(address, workers);
      if (!made) {
        if (workers.empty()) sockets_.erase(address);
        return std::move(made).error();
      }
      found = workers.emplace(worker, std::move(*made)).first;
    }
    Fd copy(::fcntl(found->second.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy.valid())
      return system_error(errno, "copy the listening socket of " + address.to_text());
    return copy;
  }

  void keep_only(std::span<const base::Address> configured) override {
    std::erase_if(sockets_, [&](const auto& entry) {
      return std::find(configured.begin(), configured.end(), entry.first) == configured.end();
    });
  }

  [[nodiscard]] std::string state() const override { return state_; }
  void put_state(std::string blob) override { state_ = std::move(blob); }

 private:
  using Workers = std::map<unsigned, Fd>;

  static base::Result<Fd> open(const base::Address& address, const Workers& workers) {
    if (workers.empty() && address.port() != 0) {
      // The kernel lets processes of one user share a port; two balancers that do not know of each
      // other must not. A socket that does not share finds out.
      if (auto alone = listen_tcp(address, {.backlog = 1, .reuse_port = false}); !alone) {
        return alone;
      }
    }
    if (address.port() != 0 || workers.empty()) return listen_tcp(address);
    const auto bound = local_address(workers.begin()->second);
    if (!bound) return bound.error();
    return listen_tcp(*bound);
  }

  std::map<base::Address, Workers> sockets_;
  std::string state_;
};

}  // namespace

std::unique_ptr<Provider> make_local_provider() { return std::make_unique<LocalProvider>(); }

}  // namespace steelyard::io
