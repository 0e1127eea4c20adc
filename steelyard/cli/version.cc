#include "steelyard/cli/version.h"

#include <fmt/format.h>

#include "steelyard/cli/command.h"

namespace steelyard::cli {

const std::string_view kVersion = STEELYARD_VERSION;
const std::string_view kRevision = STEELYARD_REVISION;

int version(const VersionFlags& flags) {
  fmt::print("steelyard {} ({})\n", kVersion, kRevision);
  if (flags.verbose) {
    fmt::print("compiler: {}\nio: epoll\nfmt: {}.{}.{}\n", __VERSION__, FMT_VERSION / 10000,
               FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  }
  return kOk;
}

}  // namespace steelyard::cli
