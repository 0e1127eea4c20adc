// /api/v1/process: who runs, what crashed, what is being replaced, and which configuration is in
// force. Pure but for the pair of clocks it is given.
#pragma once

#include <optional>
#include <string>

#include "steelyard/admin/json.h"
#include "steelyard/io/clock.h"
#include "steelyard/io/process_status.h"

namespace steelyard::admin {

struct ProcessView {
  io::ProcessStatus status;  // as the supervisor told last
  int engine = 0;            // process ids
  io::WallTime engine_began{};
  bool leased = false;
  bool draining = false;
  unsigned workers = 0;
  std::string version;
  std::string revision;

  struct Config {
    std::string file;
    std::string sha256;      // of the text in force; empty: from flags, without a file
    std::int64_t taken = 0;  // Unix time
    std::string difference;  // how the file differs; empty: it says what runs
  };
  std::optional<Config> config;  // nothing: not known
};

[[nodiscard]] std::string process_json(const ProcessView& view, const Now& now);

}  // namespace steelyard::admin
