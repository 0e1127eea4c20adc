// Options of the admin API: where it listens and who may write.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/request/network.h"
#include "steelyard/schema/field.h"

namespace steelyard::admin {

// One API key. Only its hash is configured; `steelyard key new` makes both.
struct KeyOptions {
  std::string name;
  std::string sha256;

  static constexpr auto fields() {
    return std::tuple{
        schema::field("name", &KeyOptions::name,
                      "Who uses the key; shown as the author of a change.", schema::required(),
                      schema::identifier()),
        schema::field(
            "sha256", &KeyOptions::sha256,
            "SHA-256 of the key, 64 hexadecimal digits, as `steelyard key new` prints it.",
            schema::required())};
  }
  void check(schema::Faults& faults) const {
    const bool hex = sha256.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    if (sha256.size() != 64 || !hex) {
      faults.error("sha256", "is not 64 hexadecimal digits, make a key with `steelyard key new`");
    }
  }
};

struct Options {
  base::Address address = base::Address::loopback(9180);
  std::vector<KeyOptions> keys;
  std::vector<std::string> allow = {"127.0.0.0/8", "::1/128"};
  std::vector<std::string> hosts;

  static constexpr auto fields() {
    return std::tuple{
        schema::field("address", &Options::address, "Where the admin API listens. Loopback only.",
                      schema::any_address()),
        schema::field(
            "keys", &Options::keys,
            "Keys that may change weights (X-API-Key). Without a key, changes are refused."),
        schema::field("allow", &Options::allow,
                      "Networks that may change weights, as address/prefix."),
        schema::field("hosts", &Options::hosts,
                      "Further names that a request's Host may have, beside loopback names and "
                      "addresses.",
                      schema::spelled(schema::Form::kHost))};
  }
  void check(schema::Faults& faults) const {
    for (const auto& text : allow) {
      if (const auto network = request::Network::parse(text); !network) {
        faults.error("allow", "names \"" + text + "\", which " + network.error().text);
      }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const auto key = "keys[" + std::to_string(i) + "]";
        const auto first = "keys[" + std::to_string(j) + "]";
        if (keys[i].name == keys[j].name) {
          faults.error(key + ".name", "is \"" + keys[i].name + "\", as that of " + first);
        }
        if (schema::same_word(keys[i].sha256, keys[j].sha256)) {
          faults.error(key + ".sha256", "is that of " + first + " too: each key has one user");
        }
      }
    }
    if (!address.is_loopback()) {
      faults.error("address",
                   "is not a loopback address; beyond loopback the API would need TLS and tokens "
                   "for reads, which this version does not have");
    }
  }
};

}  // namespace steelyard::admin
