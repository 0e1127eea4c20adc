// Engine: one running balancer, wired by hand: the brain on the control thread, workers that move
// the traffic, probes, drivers and the admin API.
//
// All calls are on the control thread, between turns of its reactor or inside them. `start` and
// `reload` take a whole Document: either all of it is in force afterwards, or nothing has changed
// and the error says why. What was learned stays with (upstream, name). `stop` drains; once
// `stopped` the engine may be destroyed. Listening sockets and the state blob come from the
// Provider, so that another process can keep them.
//
// Ticks run every 100 ms, and at once when a worker reports a failed node. The number of workers
// and the limits marked so in the manual are fixed at start.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "steelyard/admin/api.h"
#include "steelyard/apply/drivers.h"
#include "steelyard/cli/log.h"
#include "steelyard/cli/running_config.h"
#include "steelyard/cli/worker_pool.h"
#include "steelyard/config/document.h"
#include "steelyard/control/brain.h"
#include "steelyard/io/provider.h"
#include "steelyard/io/reactor.h"
#include "steelyard/model/slots.h"
#include "steelyard/probe/prober.h"
#include "steelyard/proxy/publisher.h"

namespace steelyard::cli {

struct EngineOptions {
  std::uint64_t seed = 1;
  base::Duration tick = std::chrono::milliseconds(100);
  std::uint32_t slots = 8192;  // at least: nodes at a time, those still leaving included
  std::string version = "unknown";
  std::string revision = "unknown";
  RunningConfig* config = nullptr;  // for metrics and API; outlives the engine; null: not known
};

class Engine final : PoolEvents, io::TimerEvents, apply::Events, probe::SampleSink, admin::Host {
 public:
  using DocumentPtr = std::shared_ptr<const config::Document>;

  Engine(io::Reactor& reactor, io::Provider& provider, Log& log, EngineOptions options);
  ~Engine();

  base::Result<void> start(const DocumentPtr& document);
  // A Document with what is made of it that costs time by its size.
  struct Plan {
    DocumentPtr document;
    std::shared_ptr<const proxy::Config> config;
  };
  // Makes the Plan of the next reload; once started. What it gives may be called on any thread.
  [[nodiscard]] std::function<Plan(const DocumentPtr&)> planner() const;
  // Only while `settled`: kConflict otherwise, nothing has changed. So it is for a Plan that was
  // made before another reload.
  base::Result<void> reload(const Plan& plan);
  // No listener is on its way out: an address that a reload took away may come back only then.
  [[nodiscard]] bool settled() const noexcept { return stopping_.empty(); }
  // What reloads replaced is in part still in use.
  [[nodiscard]] bool keeps_old() const noexcept {
    return publisher_->configs() > 1 || brain_->leaving() > 0;
  }
  // Notes a reload that never got as far as a Document.
  void reload_failed();
  // Notes that the file could not be taken when this engine began without it.
  void began_without_file() noexcept { last_reload_ok_ = false; }
  // The lease: `start` waits for it before the first tick. Without it the engine moves traffic by
  // its last Table, and that is all: no ticks, probes, drivers or admin API.
  void give_back();
  void take_back();
  [[nodiscard]] bool leased() const noexcept { return leased_; }
  // Another engine accepts on the sockets of `kept` from now; then as `stop`.
  void hand_over(std::span<const base::Address> kept, base::Duration idle, base::Duration limit);
  void reopen_logs();
  // New connections are taken for `accept` more; the other times begin then.
  void stop(base::Duration idle, base::Duration limit, base::Duration accept = {});
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  [[nodiscard]] std::uint32_t workers() const noexcept { return pool_->workers(); }
  // What clients have open here, for the supervisor.
  [[nodiscard]] io::Holding holding() const;

  // What was done since `start`, the workers' counters summed up; final once `stopped`.
  struct Totals {
    std::uint64_t requests = 0;   // answered or given up, by whatever listener they came
    std::uint64_t successes = 0;  // attempts that ended, all nodes, those that left too
    std::uint64_t failures = 0;
  };
  [[nodiscard]] Totals totals() const;
  // Bytes that workers have freed because no load of the last minute needed them.
  [[nodiscard]] std::uint64_t trimmed() const;
  // What clients lost because the time for draining was over; final once `stopped`.
  [[nodiscard]] const io::Holding& cut() const noexcept { return pool_->cut(); }

  [[nodiscard]] const control::Brain& brain() const noexcept { return *brain_; }
  // Where clients connect, with the ports that the kernel chose; in the order of the Document.
  [[nodiscard]] const std::vector<base::Address>& listeners() const noexcept { return bound_; }
  [[nodiscard]] const base::Address& admin_address() const noexcept { return admin_bound_; }

 private:
  struct Bound;  // sockets of a Document that are new, not yet in force
  [[nodiscard]] base::Result<void> reserve(const config::Document& document);
  void make_parts(const config::Document& document, io::BackendChoice io);
  void restore();
  void save();
  void open_admin(io::Fd socket);
  base::Result<void> bind(const config::Document& document, Bound& bound);
  base::Result<void> bind_admin(const config::Document& document, Bound& bound);
  base::Result<void> take(const Plan& plan, Bound& bound);
  [[nodiscard]] std::uint64_t next_config() const noexcept;
  void serve(const DocumentPtr& document, Bound bound);
  void keep_sockets();
  void aim_probes();
  void run_tick();
  void publish(std::shared_ptr<const model::Table> table);
  void tell(const std::vector<model::Decision>& decisions);
  void tell_log_health();

  void on_urgent() override;
  void on_taken() override;
  void on_listener_stopped(const base::Address& address, std::uint32_t worker) override;
  void on_overload(std::uint32_t worker, proxy::Stage stage, std::size_t used,
                   std::size_t budget) override;
  void on_workers_gone() override;
  void on_time() noexcept override;
  void on_event(const apply::Event& event) noexcept override;
  void on_report(const model::ReportSample& sample) noexcept override;
  void on_check(const model::CheckSample& sample) noexcept override;
  void publish_now(std::function<void(const Silent&)> done) override;
  void write_metrics(admin::Exposition& out) override;
  [[nodiscard]] std::vector<admin::DriverView> drivers() override;
  bool resume_driver(std::string_view upstream) override;
  [[nodiscard]] admin::Ready ready() override;
  [[nodiscard]] admin::UpstreamsBody numbers() const override;
  [[nodiscard]] admin::ProcessView process() override;

  io::Reactor& reactor_;
  io::Provider& provider_;
  Log& log_;
  EngineOptions options_;

  DocumentPtr document_;
  std::shared_ptr<const proxy::Config> config_;
  std::unique_ptr<model::Slots> slots_;
  std::unique_ptr<control::Brain> brain_;
  std::unique_ptr<proxy::Publisher> publisher_;
  std::unique_ptr<proxy::AccessLog> access_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<probe::Prober> prober_;
  std::unique_ptr<apply::Drivers> drivers_;
  std::unique_ptr<admin::Api> api_;
  std::unique_ptr<wire::Server> server_;
  std::unique_ptr<io::Timer> timer_;
  std::vector<base::Address> bound_;
  std::vector<std::pair<base::Address, std::uint32_t>> stopping_;  // listeners on their way out
  base::Address admin_bound_;
  std::uint64_t published_ = 0;  // number of the Config in the latest record
  base::TimePoint next_tick_{};
  base::TimePoint saved_{};
  std::uint64_t reloads_ok_ = 0;
  std::uint64_t reloads_failed_ = 0;
  bool last_reload_ok_ = true;
  io::WallTime last_reload_{};
  io::WallTime began_ = io::wall_now();
  bool leased_ = false;
  bool draining_ = false;
  bool stopped_ = false;
};

}  // namespace steelyard::cli
