// What an upstream's Nginx file says, as a value, and the file as text: made, written, read back.
//
// Nginx takes whole weights ≥ 1 and refuses 0: the largest weight of a usable node becomes 100, the
// others weight/max × 100, rounded to nearest, at least 1; a node that is out, drained or of weight
// 0 is `down`; a node on trial gets weight 1 and one connection at a time (a worker). No node at
// all is a single placeholder that is down, so that Nginx starts and answers 502. Injection-proof:
// names are [A-Za-z0-9][A-Za-z0-9._-]{0,62}, addresses are parsed IPs printed back (IPv6 in
// brackets), numbers are numbers; `write` reads its own text with a parser that knows Nginx's
// lexical rules and compares it with the plan before anybody gets it. The first line marks the file
// as ours and sums up the rest, so that an edit shows. Pure; O(nodes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/apply/options.h"
#include "steelyard/base/address.h"
#include "steelyard/base/result.h"
#include "steelyard/model/table.h"

namespace steelyard::apply::nginx {

inline constexpr unsigned kLargestWeight = 100;

struct Server {
  std::string name;
  base::Address address;
  unsigned weight = 1;  // 1 … 100; 0: down
  bool trial = false;   // max_conns=1
  friend bool operator==(const Server&, const Server&) = default;
};

struct Plan {
  std::string upstream;
  Balance balance = Balance::kLeastConn;
  unsigned keepalive = 32;  // 0: none
  unsigned max_fails = 3;
  unsigned fail_seconds = 20;
  std::vector<Server> servers;  // empty: the placeholder
  friend bool operator==(const Plan&, const Plan&) = default;

  // There are nodes, and none may take traffic.
  [[nodiscard]] bool all_down() const noexcept;
  // The part of the traffic that Nginx gives to servers[at], 0 … 1.
  [[nodiscard]] double share(std::size_t at) const noexcept;
};

// Error kInvalid: a name or an address that must not get into a file, said with its place.
[[nodiscard]] base::Result<Plan> plan(const model::TableUpstream& upstream,
                                      const NginxOptions& options);
// The file's text. Error kInvalid: the plan does not come back from its own text.
[[nodiscard]] base::Result<std::string> write(const Plan& plan);
// Strict: takes what `write` makes and nothing else.
[[nodiscard]] base::Result<Plan> read(std::string_view text);

enum class Owner : std::uint8_t {
  kEmpty,    // no byte: nothing to lose
  kOurs,     // our first line, and its sum is right
  kEdited,   // our first line, and its sum is wrong
  kForeign,  // not our first line: never to be touched
};
[[nodiscard]] Owner owner(std::string_view text) noexcept;

// Is `name` fit for a file: [A-Za-z0-9][A-Za-z0-9._-]{0,62}?
[[nodiscard]] bool safe_name(std::string_view name) noexcept;
// Bytes that are not printable ASCII as \xHH, cut after 80: for messages about hostile names.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace steelyard::apply::nginx
