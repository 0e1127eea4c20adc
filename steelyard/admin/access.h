// Who may talk to the admin API, and who may change something through it.
//
// Reads: the request's Host must be a loopback name or address, or a configured name, and a browser
// page of another origin is refused (DNS rebinding, cross-site requests). Writes also need a key
// and an address inside the allowed networks. Keys are compared as SHA-256 digests in constant
// time, all of them, so that neither the time nor an early end tells which one was near. Keys are
// never logged. Pure but for the hashing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/admin/options.h"
#include "steelyard/base/address.h"
#include "steelyard/base/result.h"
#include "steelyard/io/crypto.h"
#include "steelyard/request/network.h"

namespace steelyard::admin {

struct Caller {
  std::string_view host;        // Host field
  std::string_view origin;      // Origin field, empty when absent
  std::string_view fetch_site;  // Sec-Fetch-Site field
  base::Address peer;
};

struct Refusal {
  int status = 403;
  std::string text;
};

class Access {
 public:
  static base::Result<Access> make(const Options& options);

  // Nothing: may read.
  [[nodiscard]] std::optional<Refusal> read(const Caller& caller) const;
  // An IPv4 network also holds the IPv4-mapped IPv6 form of its addresses.
  // 401 without a key or with a wrong one, 403 from outside the networks. On success `author` gets
  // the key's name.
  [[nodiscard]] std::optional<Refusal> write(const Caller& caller, std::string_view key,
                                             std::string& author) const;

 private:
  struct Key {
    std::string name;
    io::Digest digest;
  };
  [[nodiscard]] bool host_known(std::string_view host) const;
  std::vector<Key> keys_;
  std::vector<request::Network> networks_;
  std::vector<std::string> hosts_;
};

}  // namespace steelyard::admin
