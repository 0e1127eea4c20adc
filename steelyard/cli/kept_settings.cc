#include "steelyard/cli/kept_settings.h"

#include "steelyard/cli/pool.h"
#include "steelyard/config/load.h"

namespace steelyard::cli {
namespace {

constexpr std::string_view kRestart = "stays as it was until a restart";
constexpr std::string_view kEither = "stays as it was until an upgrade (USR2) or a restart";

}  // namespace

std::vector<KeptSetting> kept_settings(const Running& running, const config::Document& wanted) {
  auto before = running.started;
  auto after = wanted;
  before.proxy.workers = running.workers;
  after.proxy.workers = workers_of(wanted);  // 0 is a number too
  std::vector<KeptSetting> out;
  for (auto& key : config::fixed_changes(std::move(before), std::move(after))) {
    // The first file is claimed by the engine that first names one.
    const bool supervisors =
        key == "workers" || (key == "pid_file" && !running.started.pid_file.empty());
    out.push_back({std::move(key), running.upgrades && !supervisors ? kEither : kRestart});
  }
  return out;
}

}  // namespace steelyard::cli
