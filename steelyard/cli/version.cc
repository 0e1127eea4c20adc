#include "steelyard/cli/version.h"

#include <fmt/format.h>

#include "steelyard/cli/command.h"
#include "steelyard/io/backend.h"
#include "steelyard/io/crypto.h"
#include "steelyard/io/process.h"

namespace steelyard::cli {

const std::string_view kVersion = STEELYARD_VERSION;
const std::string_view kRevision = STEELYARD_REVISION;
namespace {
#ifdef __clang__
constexpr std::string_view kCompiler = __VERSION__;  // names itself
#else
constexpr std::string_view kCompiler = "GCC " __VERSION__;
#endif
}  // namespace

int version(const VersionFlags& flags) {
  fmt::print("steelyard {} ({})\n", kVersion, kRevision);
  if (flags.verbose) {
    fmt::print("compiler: {}\nfmt: {}.{}.{}\n", kCompiler, FMT_VERSION / 10000,
               FMT_VERSION / 100 % 100, FMT_VERSION % 100);
    fmt::print("openssl: {}\nlinux: {}\n", io::crypto_version(), io::kernel_release());
    const auto chosen = io::choose_backend(io::Backend::kAuto);
    if (chosen) fmt::print("io: {} ({})\n", io::to_text(chosen->backend), chosen->reason);
  }
  return kOk;
}

}  // namespace steelyard::cli
