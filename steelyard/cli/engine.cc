#include "steelyard/cli/engine.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "steelyard/cli/engine_setup.h"
#include "steelyard/config/load.h"
#include "steelyard/io/listener_set.h"
#include "steelyard/io/process.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/thread.h"
#include "steelyard/pick/table.h"

namespace steelyard::cli {
namespace {

constexpr auto kUrgentDelay = std::chrono::milliseconds(1);
constexpr auto kSaveEvery = std::chrono::seconds(1);
constexpr std::size_t kSpareSlots = 1024;
constexpr auto kTakenLimit = std::chrono::seconds(1);

bool holds(const std::vector<proxy::ListenerOptions>& listeners, const base::Address& address) {
  return std::ranges::any_of(listeners, [&](const auto& l) { return l.address == address; });
}

}  // namespace

struct Engine::Bound {
  struct Listener {
    base::Address address;
    std::vector<io::Fd> sockets;  // one a worker
  };
  std::vector<Listener> listeners;  // those not served before
  std::vector<base::Address> addresses;
  io::Fd admin;  // when the admin API moves
  base::Address admin_address;
};

Engine::Engine(io::Reactor& reactor, io::Provider& provider, Log& log, EngineOptions options)
    : reactor_(reactor), provider_(provider), log_(log), options_(std::move(options)) {}

// A start that failed half way leaves workers behind; they end before what they use.
Engine::~Engine() {
  if (pool_ != nullptr) pool_->end();
}

base::Result<void> Engine::start(const DocumentPtr& document) {
  auto io = io::choose_backend(document->proxy.io);
  if (!io) return io.error();
  if (document->proxy.io == io::Backend::kAuto && io->backend == io::Backend::kEpoll) {
    log_.event("io_fallback", {{"backend", io::to_text(io->backend)}, {"reason", io->reason}});
  }
  if (auto done = reserve(*document); !done) return done;
  make_parts(*document, std::move(*io));
  Bound bound;
  if (auto done = bind(*document, bound); !done) return done;
  if (auto done = provider_.lease(); !done) return done;
  leased_ = true;
  if (auto done = take(planner()(document), bound); !done) return done;
  restore();
  run_tick();
  if (auto started = pool_->start(); !started) return started;
  serve(document, std::move(bound));
  last_reload_ = io::wall_now();
  provider_.ready();
  return {};
}

// Every address first: they tell whether another balancer has them, and may bring us its workers.
base::Result<void> Engine::reserve(const config::Document& document) {
  for (const auto& listener : document.listeners) {
    if (auto socket = provider_.listener(listener.address, 0); !socket) return socket.error();
  }
  Bound bound;
  return bind_admin(document, bound);
}

void Engine::make_parts(const config::Document& document, io::BackendChoice io) {
  const auto wanted =
      document.proxy.workers != 0 ? document.proxy.workers : io::usable_processors();
  const auto workers = provider_.workers(wanted);
  if (workers != wanted) {
    log_.event("workers_kept", {{"workers", fmt::format("{}", workers)},
                                {"text", "their number is fixed until the supervisor's restart"}});
  }
  std::size_t nodes = 0;
  for (const auto& [name, upstream] : document.upstreams) nodes += upstream.nodes.size();
  // Twice: a reload that exchanges every node needs room for both until the workers are past it.
  const auto slots = std::max<std::size_t>(options_.slots, 2 * nodes + kSpareSlots);
  slots_ = std::make_unique<model::Slots>(static_cast<std::uint32_t>(slots), workers);
  brain_ = std::make_unique<control::Brain>(*slots_);
  publisher_ = std::make_unique<proxy::Publisher>(
      workers, [this](std::uint32_t worker) { pool_->wake(worker); });
  access_ = std::make_unique<proxy::AccessLog>(workers);
  pool_ = std::make_unique<WorkerPool>(
      reactor_, *slots_, *publisher_,
      WorkerPool::Options{
          .workers = workers,
          .seed = options_.seed,
          .limits = limits_of(document),
          .io = std::move(io),
          .access = access_.get(),
          .most_clients = clients_for(io::raise_descriptor_limit(), workers),
          .pulse = [this](std::uint32_t worker) { return provider_.pulse(worker + 1); }},
      static_cast<PoolEvents&>(*this));
  prober_ = std::make_unique<probe::Prober>(reactor_, static_cast<probe::SampleSink&>(*this),
                                            probe::ProberOptions{.seed = options_.seed});
  drivers_ = std::make_unique<apply::Drivers>(reactor_, static_cast<apply::Events&>(*this));
  timer_ = reactor_.timer(*this);
}

std::uint64_t Engine::next_config() const noexcept {
  return config_ != nullptr ? config_->number + 1 : 1;
}

std::function<Engine::Plan(const Engine::DocumentPtr&)> Engine::planner() const {
  return [number = next_config(), workers = pool_->workers()](const DocumentPtr& document) {
    return Plan{document, proxy::Config::make(number, document->proxy, document->listeners,
                                              config::rules_of(*document), workers)};
  };
}

base::Result<void> Engine::reload(const Plan& plan) {
  const auto& document = plan.document;
  if (!leased_) {
    return base::Error{base::Code::kConflict, base::Origin::kUs, true,
                       "another engine has the lease"};
  }
  if (!settled()) {
    return base::Error{base::Code::kConflict, base::Origin::kUs, true,
                       "listeners of the last reload are still being emptied"};
  }
  if (plan.config->number != next_config()) {
    return base::Error{base::Code::kConflict, base::Origin::kUs, true,
                       "another reload was taken since this one was planned"};
  }
  Bound bound;
  auto done = bind(*document, bound);
  if (done) done = take(plan, bound);
  if (!done) {
    keep_sockets();
    reload_failed();
    return done;
  }
  run_tick();
  serve(document, std::move(bound));
  // A person acted: what a driver gave up on may be right now.
  for (const auto& status : drivers_->statuses()) {
    if (auto* const driver = drivers_->find(status.upstream)) driver->resume();
  }
  ++reloads_ok_;
  last_reload_ok_ = true;
  last_reload_ = io::wall_now();
  return {};
}

void Engine::reload_failed() {
  ++reloads_failed_;
  last_reload_ok_ = false;
}

// Binds what the Document adds. Nothing of it is in force yet.
base::Result<void> Engine::bind(const config::Document& document, Bound& bound) {
  for (const auto& listener : document.listeners) {
    const bool old = document_ != nullptr && holds(document_->listeners, listener.address);
    Bound::Listener made{listener.address, {}};
    for (std::uint32_t worker = 0; worker < pool_->workers(); ++worker) {
      auto socket = provider_.listener(listener.address, worker);
      if (!socket) return socket.error();
      if (worker == 0) {
        auto local = io::local_address(*socket);
        if (!local) return local.error();
        bound.addresses.push_back(*local);
      }
      if (!old) made.sockets.push_back(std::move(*socket));
    }
    if (!old) bound.listeners.push_back(std::move(made));
  }
  return bind_admin(document, bound);
}

base::Result<void> Engine::bind_admin(const config::Document& document, Bound& bound) {
  if (document_ != nullptr && document_->admin.address == document.admin.address) return {};
  auto socket = provider_.listener(document.admin.address, io::ListenerSet::kAdmin);
  if (!socket) {
    auto error = socket.error();
    error.text = "admin: " + error.describe();
    return error;
  }
  auto local = io::local_address(*socket);
  if (!local) return local.error();
  bound.admin = std::move(*socket);
  bound.admin_address = *local;
  return {};
}

// Everything that can refuse the Document, in an order in which a refusal leaves nothing behind.
base::Result<void> Engine::take(const Plan& plan, Bound& bound) {
  const auto& document = plan.document;
  auto access = admin::Access::make(document->admin);
  if (!access) return access.error();
  if (auto done = access_->configure(document->proxy.log); !done) return done;
  if (auto done = drivers_->configure(driver_targets(*document)); !done) return done;
  if (auto done = brain_->configure(config::brain_setup(*document), reactor_.now()); !done) {
    if (document_ != nullptr) (void)drivers_->configure(driver_targets(*document_));
    return done;
  }
  if (api_ == nullptr) {
    api_ = std::make_unique<admin::Api>(reactor_, *brain_, static_cast<admin::Host&>(*this),
                                        std::move(*access));
  } else {
    api_->set_access(std::move(*access));
  }
  config_ = plan.config;
  bound_ = bound.addresses;
  return {};
}

// The part that cannot fail: hand out new sockets, take back old ones, aim the probes.
void Engine::serve(const DocumentPtr& document, Bound bound) {
  const DocumentPtr before = std::exchange(document_, document);
  for (auto& listener : bound.listeners) {
    for (std::uint32_t worker = 0; worker < listener.sockets.size(); ++worker) {
      pool_->add_listener(worker, std::move(listener.sockets[worker]), listener.address);
    }
  }
  if (before != nullptr) {
    for (const auto& listener : before->listeners) {
      if (holds(document->listeners, listener.address)) continue;
      for (std::uint32_t worker = 0; worker < pool_->workers(); ++worker) {
        stopping_.emplace_back(listener.address, worker);
      }
      pool_->remove_listener(listener.address);
    }
  }
  if (bound.admin.valid()) {
    admin_bound_ = bound.admin_address;
    open_admin(std::move(bound.admin));
  }
  keep_sockets();
  aim_probes();
}

void Engine::keep_sockets() {
  std::vector<base::Address> kept;
  if (document_ != nullptr) {
    if (!draining_) {
      for (const auto& listener : document_->listeners) kept.push_back(listener.address);
    }
    kept.push_back(document_->admin.address);
  }
  for (const auto& [address, worker] : stopping_) kept.push_back(address);
  provider_.keep_only(kept);
}

void Engine::aim_probes() { prober_->set_targets(probe_targets(*document_, *brain_)); }

void Engine::stop(base::Duration idle, base::Duration limit, base::Duration accept) {
  if (!std::exchange(draining_, true)) {
    for (const auto& listener : document_->listeners) {
      for (std::uint32_t worker = 0; worker < pool_->workers(); ++worker) {
        stopping_.emplace_back(listener.address, worker);
      }
    }
  }
  const auto from = reactor_.now() + accept;
  pool_->drain(from + idle, from + limit, from);
}

void Engine::run_tick() {
  const auto now = reactor_.now();
  const auto before = brain_->table() != nullptr ? brain_->table()->number : 0;
  auto tick = brain_->tick(now);
  const bool moved = tick.table->number != before;
  const bool reconfigured = publisher_->record_number() == 0 || config_->number != published_;
  if (moved || reconfigured) publish(tick.table);
  if (moved) drivers_->want(*tick.table);
  tell(tick.decisions);
  tell_log_health();
  publisher_->collect(now);
  brain_->workers_past(publisher_->table_taken());
  if (moved || now - saved_ >= kSaveEvery) save();
  next_tick_ = now + options_.tick;
  timer_->at(next_tick_);
}

void Engine::publish(std::shared_ptr<const model::Table> table) {
  publisher_->publish(config_, pick::Table::make(std::move(table), brain_->pickers()));
  published_ = config_->number;
}

void Engine::tell(const std::vector<model::Decision>& decisions) {
  for (const auto& d : decisions) {
    if (d.change == model::Change::kSuppressed) continue;  // many; the API has them
    log_.event("decision", {{"upstream", d.node.upstream},
                            {"node", d.node.name},
                            {"change", model::to_text(d.change)},
                            {"table", fmt::format("{}", d.table)},
                            {"reason", d.reason}});
  }
}

void Engine::tell_log_health() {
  const auto health = access_->changed_health();
  if (!health) return;
  log_.event(
      health->failing ? "access_log_fails" : "access_log_recovered",
      {{"file", document_ == nullptr ? "" : document_->proxy.log.file},
       {"lost", fmt::format("{}", health->lost)},
       {"text", health->failing ? std::strerror(health->error) : "lines are written again"}});
}

void Engine::on_time() noexcept {
  if (leased_) run_tick();
}

void Engine::on_urgent() {
  const auto soon = reactor_.now() + kUrgentDelay;
  if (!leased_ || next_tick_ <= soon) return;
  next_tick_ = soon;
  timer_->at(soon);
}

void Engine::on_taken() {
  publisher_->collect(reactor_.now());
  brain_->workers_past(publisher_->table_taken());
}

void Engine::on_listener_stopped(const base::Address& address, std::uint32_t worker) {
  std::erase(stopping_, std::pair{address, worker});
  if (leased_) keep_sockets();  // who draws back must refuse, not let clients wait
}

void Engine::on_overload(std::uint32_t worker, proxy::Stage stage, std::size_t used,
                         std::size_t budget) {
  log_.event("overload", {{"worker", fmt::format("{}", worker)},
                          {"stage", proxy::kStageWords[static_cast<std::size_t>(stage)]},
                          {"used", fmt::format("{}", used)},
                          {"budget", fmt::format("{}", budget)}});
}

void Engine::reopen_logs() {
  if (const auto done = access_->reopen(); !done) {
    return log_.event("reopen_failed",
                      {{"reason", done.error().describe()},
                       {"text", "the access log goes on into the file that it had opened before"}});
  }
  log_.event("reopen", {{"text", "the access log"}});
}

void Engine::on_workers_gone() { stopped_ = true; }

void Engine::on_event(const apply::Event& event) noexcept {
  log_.event(event.what, {{"upstream", event.upstream}, {"text", event.text}});
}

void Engine::on_report(const model::ReportSample& sample) noexcept { brain_->observe(sample); }

void Engine::on_check(const model::CheckSample& sample) noexcept {
  brain_->observe(sample);
  if (sample.outcome == model::CheckOutcome::kRefused) on_urgent();
}

void Engine::publish_now(std::function<void(const Silent&)> done) {
  run_tick();
  const auto now = reactor_.now();
  publisher_->when_taken(publisher_->record_number(), now + kTakenLimit, std::move(done));
  publisher_->collect(now);
}

}  // namespace steelyard::cli
