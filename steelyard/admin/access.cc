#include "steelyard/admin/access.h"

#include <algorithm>

namespace steelyard::admin {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// "host:port" or "host" → "host"; brackets of IPv6 are kept off.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(1, end - 1);
  }
  return host.substr(0, host.rfind(':'));
}

base::Error bad(std::string_view text, std::string_view why) {
  return {.code = base::Code::kInvalid,
          .origin = base::Origin::kOperator,
          .retry_safe = false,
          .text = "\"" + std::string(text) + "\" " + std::string(why)};
}

constexpr std::string_view kMappedPrefix("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);

// An IPv4 address that came as the IPv6 form of itself, as IPv4; others as they are.
base::Address unmapped(const base::Address& address) {
  const auto& ip = address.ip();
  if (address.family() != base::Address::Family::kV6 ||
      !std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), ip.begin(),
                  [](char c, std::uint8_t b) { return static_cast<std::uint8_t>(c) == b; })) {
    return address;
  }
  return base::Address::v4({ip[12], ip[13], ip[14], ip[15]}, address.port());
}

}  // namespace

base::Result<Access> Access::make(const Options& options) {
  Access out;
  for (const auto& key : options.keys) {
    const auto digest = io::digest_from_hex(key.sha256);
    if (!digest) return bad(key.name, "has no valid sha256");
    out.keys_.push_back({key.name, *digest});
  }
  for (const auto& text : options.allow) {
    auto network = request::Network::parse(text);
    if (!network) return bad(text, network.error().text);
    out.networks_.push_back(*network);
  }
  for (const auto& host : options.hosts) out.hosts_.push_back(lower(host));
  return out;
}

bool Access::host_known(std::string_view host) const {
  const std::string name = lower(without_port(host));
  if (name == "localhost" || name == "::1") return true;
  const auto address = base::Address::parse(name + ":1");
  if (address && address->is_loopback()) return true;
  return std::ranges::find(hosts_, name) != hosts_.end();
}

std::optional<Refusal> Access::read(const Caller& caller) const {
  if (!host_known(caller.host)) {
    return Refusal{421, "Host \"" + std::string(caller.host) +
                            "\" is not one of ours; add it to admin.hosts if it should be"};
  }
  if (caller.fetch_site == "cross-site" || caller.fetch_site == "same-site") {
    return Refusal{403, "requests from pages of other sites are refused"};
  }
  if (!caller.origin.empty()) {
    const auto scheme = caller.origin.find("://");
    if (scheme == std::string_view::npos ||
        lower(caller.origin.substr(scheme + 3)) != lower(caller.host)) {
      return Refusal{403, "Origin \"" + std::string(caller.origin) + "\" is refused"};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> Access::write(const Caller& caller, std::string_view key,
                                     std::string& author) const {
  if (auto refusal = read(caller)) return refusal;
  const auto peer = unmapped(caller.peer);
  if (std::ranges::none_of(networks_, [&](const auto& network) { return network.holds(peer); })) {
    return Refusal{403, "address " + caller.peer.ip_text() + " is outside admin.allow"};
  }
  if (key.empty()) {
    return Refusal{401, keys_.empty() ? "no key is configured; make one with `steelyard key new` "
                                        "and put its hash under admin.keys"
                                      : "X-API-Key is missing"};
  }
  const auto digest = io::sha256(key);
  const Key* found = nullptr;
  for (const auto& known : keys_) {
    if (io::equal_constant_time(known.digest, digest)) found = &known;
  }
  if (found == nullptr) return Refusal{401, "X-API-Key is not a key we know"};
  author = found->name;
  return std::nullopt;
}

}  // namespace steelyard::admin
