// `adaptive`: which law runs, by what the nodes tell. Utilisation reported (and a rate to divide
// by) → capacity; only a score → score_map; nothing → static weights with passive health.
//
// Pure. `choose` at run time is given what runs now and leaves it only for a reason, so that one
// missing report does not switch the law.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace steelyard::weigh {

struct Choice {
  std::string_view controller;  // a name of the registry
  std::string why;              // one sentence with its numbers
};

// What the nodes in service have reported and not let expire.
struct Reported {
  std::uint32_t nodes = 0;        // in service
  std::uint32_t utilisation = 0;  // of which with a known utilisation …
  std::uint32_t capacity = 0;     // … and a rate to divide by
  std::uint32_t score = 0;        // with a known score
};

// At run time. `running`: the controller chosen before, empty at first.
[[nodiscard]] Choice choose(const Reported& reported, std::string_view running);
// Before anything has been seen (`steelyard check`): what will run given the configuration.
// `configured` is the name of `weigh.controller`; `collects`: `sense.score` is there.
[[nodiscard]] Choice choose(std::string_view configured, bool collects);

}  // namespace steelyard::weigh
