#include "steelyard/admin/process.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace steelyard::admin {
namespace {

using Json = nlohmann::ordered_json;

Json when(std::int64_t unix_time) {
  if (unix_time == 0) return nullptr;
  return io::rfc3339(io::WallTime(std::chrono::seconds(unix_time)));
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json age(std::int64_t unix_time, const Now& now) {
  if (unix_time == 0) return nullptr;
  return base::seconds(now.wall - io::WallTime(std::chrono::seconds(unix_time)));
}

Json supervisor_of(const io::ProcessStatus& status, const Now& now) {
  if (status.supervisor == 0) return nullptr;
  return Json{{"pid", status.supervisor},
              {"connected", !status.lost},
              {"since", when(status.started)},
              {"uptime_seconds", status.lost ? Json(nullptr) : age(status.started, now)}};
}

Json engine_of(const ProcessView& view, const Now& now) {
  return Json{{"pid", view.engine},
              {"generation", view.status.generation},
              {"version", view.version},
              {"revision", view.revision},
              {"state", view.draining ? "draining" : "serving"},
              {"since", io::rfc3339(view.engine_began)},
              {"uptime_seconds", base::seconds(now.wall - view.engine_began)},
              {"workers", view.workers}};
}

Json crashes_of(const io::ProcessStatus& status, const Now& now) {
  const auto since = std::chrono::floor<std::chrono::seconds>(now.wall).time_since_epoch().count() -
                     status.crash_window;
  const auto recent = static_cast<std::uint64_t>(
      std::ranges::count_if(status.recent_crashes, [&](auto at) { return at >= since; }));
  Json last = nullptr;
  if (status.last_crash != 0) {
    last = Json{{"at", when(status.last_crash)},
                {"pid", status.crashed_pid == 0 ? Json(nullptr) : Json(status.crashed_pid)},
                {"how", status.crashed_how}};
  }
  return Json{{"total", status.crashes},
              {"recent", recent},
              {"window_seconds", status.crash_window},
              {"limit", status.crash_limit},
              {"next_is_held_back", status.crash_limit != 0 && recent >= status.crash_limit},
              {"last", std::move(last)}};
}

Json upgrade_of(const io::ProcessStatus& status) {
  Json failure = nullptr;
  if (status.upgrade_failed != 0) {
    failure = Json{{"at", when(status.upgrade_failed)}, {"reason", status.upgrade_failure}};
  }
  return Json{{"under_way", status.upgrading},
              {"done", status.upgrades},
              {"failed", status.failed_upgrades},
              {"last_failure", std::move(failure)}};
}

Json draining_of(const io::ProcessStatus& status, const Now& now) {
  Json out = Json::array();
  for (const auto& one : status.draining) {
    Json line{{"pid", one.pid},
              {"generation", one.generation == 0 ? Json(nullptr) : Json(one.generation)},
              {"since", when(one.since)},
              {"for_seconds", age(one.since, now)},
              {"holds", nullptr}};
    if (one.holding) {
      line["holds"] = Json{{"connections", one.holding->connections},
                           {"exchanges", one.holding->exchanges},
                           {"tunnels", one.holding->tunnels}};
    }
    out.push_back(std::move(line));
  }
  return out;
}

Json config_of(const std::optional<ProcessView::Config>& config) {
  if (!config) return nullptr;
  const bool from_file = !config->sha256.empty();
  return Json{{"file", from_file ? Json(config->file) : Json(nullptr)},
              {"sha256", text_or_null(config->sha256)},
              {"taken", when(config->taken)},
              {"differs_from_file", from_file ? Json(!config->difference.empty()) : Json(nullptr)},
              {"difference", text_or_null(config->difference)}};
}

}  // namespace

std::string process_json(const ProcessView& view, const Now& now) {
  const Json out{{"supervisor", supervisor_of(view.status, now)},
                 {"engine", engine_of(view, now)},
                 {"lease", Json{{"holder", view.leased ? Json(view.engine) : Json(nullptr)}}},
                 {"crashes", crashes_of(view.status, now)},
                 {"upgrade", upgrade_of(view.status)},
                 {"draining", draining_of(view.status, now)},
                 {"config", config_of(view.config)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace steelyard::admin
