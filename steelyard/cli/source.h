// Where a configuration comes from: a file, the flags of `run --to`, or a text that was kept. One
// path for start, reload, check and -s.
#pragma once

#include <memory>
#include <string>

#include "steelyard/cli/command.h"
#include "steelyard/config/load.h"

namespace steelyard::cli {

inline constexpr const char* kConfigVariable = "STEELYARD_CONFIG";
inline constexpr const char* kDefaultConfig = "/etc/steelyard/steelyard.yaml";

// The file that the flags, the environment or the default name.
[[nodiscard]] std::string config_file(const ConfigFlags& flags);

struct Source {
  std::string name;                                  // for messages: the file, or the flag
  std::shared_ptr<const config::Document> document;  // null: `report` says why
  std::string text;                                  // of the file; empty with "--to"
  std::string report;                                // errors and warnings, a line each
  std::size_t errors = 0, warnings = 0;
  schema::Problems problems;  // of a file that could be read
};
[[nodiscard]] Source load_source(const ConfigFlags& flags);
// The line of `report` that tells the first error, without its end; for a source without document.
[[nodiscard]] std::string_view first_error(const Source& source);
// A file's text from elsewhere, as if it had been read under this name.
[[nodiscard]] Source load_text(const std::string& name, std::string text);

}  // namespace steelyard::cli
