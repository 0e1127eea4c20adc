#include "steelyard/apply/nginx/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

namespace steelyard::apply::nginx {
namespace {

base::Error invalid(std::string text) {
  return base::Error{.code = base::Code::kInvalid,
                     .origin = base::Origin::kOperator,
                     .retry_safe = false,
                     .text = std::move(text)};
}

constexpr bool alnum(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool safe_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 63 || !alnum(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return alnum(c) || c == '.' || c == '_' || c == '-'; });
}

std::string quoted(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text.substr(0, 80)) {
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out + (text.size() > 80 ? "…\"" : "\"");
}

bool Plan::all_down() const noexcept {
  return !servers.empty() &&
         std::all_of(servers.begin(), servers.end(), [](const Server& s) { return s.weight == 0; });
}

double Plan::share(std::size_t at) const noexcept {
  double sum = 0;
  for (const Server& s : servers) sum += s.weight;
  return sum > 0 ? servers[at].weight / sum : 0;
}

base::Result<Plan> plan(const model::TableUpstream& upstream, const NginxOptions& options) {
  if (!safe_name(upstream.name)) {
    return invalid("upstream " + quoted(upstream.name) +
                   ": the name must be letters, digits and ._- and start with a letter or digit");
  }
  Plan out{.upstream = upstream.name,
           .balance = options.balance,
           .keepalive = options.keepalive,
           .max_fails = options.max_fails,
           .fail_seconds = static_cast<unsigned>(
               std::chrono::duration_cast<std::chrono::seconds>(options.fail_timeout).count()),
           .servers = {}};
  std::unordered_set<std::string_view> seen;
  double largest = 0;
  for (const model::TableNode& node : upstream.nodes) {
    const std::string where = "upstream " + upstream.name + ", node " + quoted(node.name);
    if (!safe_name(node.name)) {
      return invalid(where + ": the name must be letters, digits and ._- (at most 63)");
    }
    if (!node.address.valid() || node.address.port() == 0) {
      return invalid(where + ": has no address with a port from 1 to 65535");
    }
    if (!seen.insert(node.name).second) return invalid(where + ": is there twice");
    if (!std::isfinite(node.weight) || node.weight < 0) {
      return invalid(where + ": the weight is not a number of 0 or more");
    }
    if (model::in_rotation(node.eligibility, upstream.panic)) {
      if (node.eligibility != model::Eligibility::kTrial) largest = std::max(largest, node.weight);
    }
  }
  for (const model::TableNode& node : upstream.nodes) {
    Server server{.name = node.name, .address = node.address, .weight = 0, .trial = false};
    if (node.weight > 0 && model::in_rotation(node.eligibility, upstream.panic)) {
      server.trial = node.eligibility == model::Eligibility::kTrial;
      server.weight = 1;
      if (!server.trial) {
        // Divided first: weight × 100 may overflow to infinity, weight / largest is at most 1.
        const double scaled = std::round(node.weight / largest * kLargestWeight);
        server.weight = std::max(1U, static_cast<unsigned>(scaled));
      }
    }
    out.servers.push_back(std::move(server));
  }
  return out;
}

}  // namespace steelyard::apply::nginx
