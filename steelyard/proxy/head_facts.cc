#include "steelyard/proxy/head_facts.h"

#include <algorithm>

#include "steelyard/http/forwarded.h"

namespace steelyard::proxy {

bool is_trusted(const base::Address& address, std::span<const request::Network> trusted) noexcept {
  return std::any_of(trusted.begin(), trusted.end(),
                     [plain = http::unmapped(address)](const request::Network& network) {
                       return network.holds(plain);
                     });
}

base::Address client_behind(const base::Address& peer, const http::Head& head,
                            std::span<const request::Network> trusted) noexcept {
  base::Address client = peer;
  http::ForwardedFor hops(head);
  for (std::string_view entry; hops.next(entry);) {
    const auto address = http::forwarded_address(entry);
    if (!address.valid()) break;
    client = address;
    if (!is_trusted(client, trusted)) break;
  }
  return client;
}

}  // namespace steelyard::proxy
