// Settings that a reload leaves as they are: which of them are to be others than what runs, and
// what makes them so.
//
// An upgrade starts an engine that reads the file again, but the supervisor outlives it, with the
// number of workers and the pid file. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/config/document.h"

namespace steelyard::cli {

struct Running {
  const config::Document& started;  // what the engine was started with
  std::uint32_t workers = 1;        // that it has
  bool upgrades = false;            // there is a supervisor that could replace it
};
struct KeptSetting {
  std::string key;
  std::string_view text;  // for people
  friend bool operator==(const KeptSetting&, const KeptSetting&) = default;
};
[[nodiscard]] std::vector<KeptSetting> kept_settings(const Running& running,
                                                     const config::Document& wanted);

}  // namespace steelyard::cli
