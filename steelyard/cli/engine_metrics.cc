// What the engine adds to /metrics, /readyz and /api/v1/drivers.
#include <fmt/format.h>

#include "steelyard/cli/engine.h"
#include "steelyard/request/reason.h"

namespace steelyard::cli {
namespace {

using Metrics = std::vector<const proxy::WorkerMetrics*>;

template <typename Get>
std::uint64_t sum(const Metrics& workers, Get get) {
  std::uint64_t total = 0;
  for (const auto* worker : workers) total += get(*worker);
  return total;
}

void write_workers(admin::Exposition& out, const Metrics& workers) {
  out.family("http_requests_total", "counter",
             "Requests by class of the answer's status; \"none\": given up before an answer.");
  for (std::size_t i = 0; i < proxy::WorkerMetrics::kClasses; ++i) {
    const bool other = i + 1 == proxy::WorkerMetrics::kClasses;
    out.sample({{"code_class", i == 0  ? "none"
                               : other ? "other"
                                       : fmt::format("{}xx", i)}},
               sum(workers, [&](const auto& w) { return w.answers[i].read(); }));
  }
  out.family("http_refused_requests_total", "counter",
             "Requests that could not be taken, by the status they were answered with.");
  const auto& refusals = proxy::WorkerMetrics::kRefusals;
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    out.sample({{"code", i == 0 ? std::string("other") : fmt::format("{}", refusals[i])}},
               sum(workers, [&](const auto& w) { return w.refusals[i].read(); }));
  }
  out.family("http_own_answers_total", "counter", "Answers made by the balancer, by reason.");
  for (std::size_t i = 1; i < static_cast<std::size_t>(request::Reason::kClientGone); ++i) {
    out.sample({{"reason", request::describe(static_cast<request::Reason>(i)).word}},
               sum(workers, [&](const auto& w) { return w.own_answers[i].read(); }));
  }
  for (const auto& metric : proxy::kWorkerCounters) {
    out.family(metric.name, "counter", metric.help);
    out.sample({}, sum(workers, [&](const auto& w) { return (w.*metric.count).read(); }));
  }
  for (const auto& metric : proxy::kWorkerGauges) {
    out.family(metric.name, "gauge", metric.help);
    out.sample({}, sum(workers, [&](const auto& w) { return (w.*metric.count).read(); }));
  }
  out.family("proxy_waiting_exchanges", "gauge", "Exchanges that wait in a queue for a node.");
  out.sample({}, sum(workers, [](const auto& w) { return w.waiting.read(); }));
  out.family("proxy_open_tunnels", "gauge", "Tunnels that are open.");
  out.sample({}, sum(workers, [](const auto& w) { return w.tunnels_open.read(); }));
  out.family("proxy_overload_stage", "gauge",
             "Highest stage of a worker: 0 calm, 1 hurry, 2 close, 3 refuse, 4 shed.");
  std::uint64_t stage = 0;
  for (const auto* worker : workers) stage = std::max(stage, worker->stage.read());
  out.sample({}, stage);
  base::Histogram duration;
  for (const auto* worker : workers) duration.merge(worker->duration.read());
  out.family(
      "http_request_duration_seconds", "histogram",
      "Time from the head of the request to the end of the answer, ours too; without those that "
      "were broken off and requests that were refused.");
  out.histogram({}, duration);
  base::Histogram connect;
  for (const auto* worker : workers) connect.merge(worker->connect_time.read());
  out.family("proxy_node_connect_duration_seconds", "histogram",
             "Time to open a connection to a node.");
  out.histogram({}, connect);
}

void write_process(admin::Exposition& out, const io::ProcessStatus& status, bool leased) {
  const auto one = [&](std::string_view name, std::string_view type, std::string_view help,
                       std::uint64_t value) {
    out.family(name, type, help);
    out.sample({}, value);
  };
  one("supervisor_connected", "gauge", "1 with a supervisor, 0 when it is gone or there is none.",
      status.supervisor != 0 && !status.lost ? 1 : 0);
  one("engine_lease", "gauge", "1 when this engine may tick, apply and write.", leased ? 1 : 0);
  one("engine_generation", "gauge", "Number of this engine since its supervisor's first.",
      status.generation);
  one("engine_crashes_total", "counter", "Engines that ended unasked.", status.crashes);
  one("engine_last_crash_timestamp_seconds", "gauge", "When the last one did; 0: never.",
      static_cast<std::uint64_t>(status.last_crash));
  one("engine_draining", "gauge", "Old engines that still finish what they have.",
      status.draining.size());
  one("engine_upgrading", "gauge", "1 while a new engine is to take this one's place.",
      status.upgrading ? 1 : 0);
  out.family("engine_upgrades_total", "counter", "Upgrades by result.");
  out.sample({{"result", "success"}}, status.upgrades);
  out.sample({{"result", "failure"}}, status.failed_upgrades);
}

void write_drivers(admin::Exposition& out, const std::vector<admin::DriverView>& drivers,
                   base::TimePoint now) {
  if (drivers.empty()) return;
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto value) {
    out.family(name, type, help);
    for (const auto& d : drivers) {
      out.sample({{"upstream", d.upstream}, {"kind", d.kind}}, value(d));
    }
  };
  out.family("driver_applies_total", "counter", "Changes of another balancer, by result.");
  for (const auto& d : drivers) {
    out.sample({{"upstream", d.upstream}, {"kind", d.kind}, {"result", "applied"}}, d.applies);
    out.sample({{"upstream", d.upstream}, {"kind", d.kind}, {"result", "failed"}}, d.failures);
  }
  each("driver_rollbacks_total", "counter", "Files put back after a failure.",
       [](const auto& d) { return d.rollbacks; });
  each("driver_reloads_total", "counter", "Reload commands run.",
       [](const auto& d) { return d.reloads; });
  each("driver_edits_total", "counter", "Changes of the driven file by others.",
       [](const auto& d) { return d.edits; });
  each("driver_drift_ratio", "gauge", "How far the verified shares are from the intended ones.",
       [](const auto& d) { return d.drift; });
  each("driver_ok", "gauge", "1 when what is wanted serves or is under way, 0 when it failed.",
       [](const auto& d) { return std::uint64_t{d.reason.empty()}; });
  out.family("nginx_workers_shutting_down", "gauge", "Old Nginx workers still finishing.");
  for (const auto& d : drivers) {
    if (d.old_workers) out.sample({{"upstream", d.upstream}}, *d.old_workers);
  }
  out.family("driver_last_success_age_seconds", "gauge", "Time since a change was verified.");
  for (const auto& d : drivers) {
    if (d.last_success) {
      out.sample({{"upstream", d.upstream}}, base::seconds(now - *d.last_success));
    }
  }
}

}  // namespace

Engine::Totals Engine::totals() const {
  Totals out{.requests = pool_->requests()};
  const auto add = [&](const control::Counts& counts) {
    out.successes += counts.successes;
    out.failures += counts.failures + counts.connect_failures;
  };
  for (const auto& upstream : brain_->views(reactor_.now())) {
    for (const auto& node : upstream.nodes) add(node.counts);
    add(upstream.gone);
  }
  add(brain_->gone());
  return out;
}

void Engine::write_metrics(admin::Exposition& out) {
  out.family("build_info", "gauge", "Version and revision of this binary.");
  out.sample({{"version", options_.version}, {"revision", options_.revision}}, std::uint64_t{1});
  out.family("config_last_reload_successful", "gauge", "1 when the last reload was taken, else 0.");
  out.sample({}, std::uint64_t{last_reload_ok_});
  out.family("config_last_reload_success_timestamp_seconds", "gauge",
             "When a configuration was last taken, in Unix time.");
  out.sample({}, std::chrono::duration<double>(last_reload_.time_since_epoch()).count());
  if (options_.config != nullptr) {
    out.family("config_differs", "gauge",
               "1 when the file, as it was last looked at, is not what runs: broken, gone, refused "
               "or not reloaded.");
    out.sample({}, std::uint64_t{!options_.config->difference().empty()});
  }
  out.family("config_reloads_total", "counter", "Reloads by result.");
  out.sample({{"result", "success"}}, reloads_ok_);
  out.sample({{"result", "failure"}}, reloads_failed_);
  out.family("table_number", "gauge", "Number of the table that every worker holds.");
  out.sample({}, publisher_->table_taken());
  out.family("workers", "gauge", "Worker threads.");
  out.sample({}, std::uint64_t{pool_->workers()});
  out.family("proxy_io_info", "gauge", "How workers talk to the kernel.");
  out.sample({{"backend", std::string(io::to_text(pool_->io().backend))}}, std::uint64_t{1});
  out.family("log_lines_dropped_total", "counter", "Log lines that found no room.");
  out.sample({}, log_.dropped());
  out.family("access_log_lines_total", "counter", "Lines of the access log that were written.");
  out.sample({}, access_->lines());
  out.family("access_log_dropped_total", "counter",
             "Exchanges not logged because the writer was behind.");
  out.sample({}, access_->dropped());
  out.family("access_log_lost_total", "counter", "Lines that could not be written.");
  out.sample({}, access_->lost());
  write_process(out, provider_.status(), leased_);
  write_workers(out, pool_->metrics());
  write_drivers(out, drivers(), reactor_.now());
}

std::vector<admin::DriverView> Engine::drivers() {
  std::vector<admin::DriverView> out;
  for (auto& s : drivers_->statuses()) {
    admin::DriverView view{.upstream = std::move(s.upstream),
                           .kind = std::move(s.kind),
                           .target = std::move(s.target),
                           .state = std::string(apply::to_text(s.state)),
                           .reason = std::move(s.reason),
                           .last_error = std::move(s.last_error),
                           .wanted_table = s.wanted_table,
                           .applied_table = s.applied_table,
                           .nodes = {},
                           .drift = s.drift,
                           .applies = s.applies,
                           .failures = s.failures,
                           .rollbacks = s.rollbacks,
                           .reloads = s.reloads,
                           .edits = s.edits,
                           .old_workers = s.old_workers,
                           .last_success = s.last_success};
    for (auto& node : s.nodes) view.nodes.push_back({node.node, node.intended, node.verified});
    out.push_back(std::move(view));
  }
  return out;
}

bool Engine::resume_driver(std::string_view upstream) {
  auto* const driver = drivers_->find(upstream);
  if (driver != nullptr) driver->resume();
  return driver != nullptr;
}

admin::UpstreamsBody Engine::numbers() const {
  return {publisher_->table_taken(), config_ != nullptr ? config_->number : 0};
}

// Ready: the workers hold a table, we are not draining, and every upstream has a node to pick.
admin::Ready Engine::ready() {
  admin::Ready out{true, ""};
  const auto line = [&](bool ok, std::string_view what, std::string_view detail) {
    out.ok = out.ok && ok;
    out.text +=
        fmt::format("{} {}{}{}\n", ok ? "ok  " : "FAIL", what, detail.empty() ? "" : ": ", detail);
  };
  line(publisher_->table_taken() != 0, "workers", "");
  line(!draining_, "accepting", draining_ ? "draining" : "");
  for (const auto& upstream : brain_->table()->upstreams) {
    std::size_t usable = 0;
    for (const auto& node : upstream.nodes) {
      if (model::in_rotation(node.eligibility, upstream.panic)) ++usable;
    }
    line(usable > 0, fmt::format("upstream {}", upstream.name),
         fmt::format("{} of {} nodes in rotation{}", usable, upstream.nodes.size(),
                     upstream.panic ? ", in panic: health is ignored" : ""));
  }
  for (const auto& driver : drivers()) {
    const bool ok =
        driver.state != "alarm" && driver.state != "stopped" && driver.state != "refused";
    line(ok, fmt::format("driver {}", driver.upstream), driver.reason);
  }
  return out;
}

}  // namespace steelyard::cli
