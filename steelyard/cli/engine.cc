#include "steelyard/cli/engine.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "steelyard/cli/engine_setup.h"
#include "steelyard/config/load.h"
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
  const auto workers =
      document->proxy.workers != 0 ? document->proxy.workers : io::usable_processors();
  std::size_t nodes = 0;
  for (const auto& [name, upstream] : document->upstreams) nodes += upstream.nodes.size();
  // Twice: a reload that exchanges every node needs room for both until the workers are past it.
  const auto slots = std::max<std::size_t>(options_.slots, 2 * nodes + kSpareSlots);
  slots_ = std::make_unique<model::Slots>(static_cast<std::uint32_t>(slots), workers);
  brain_ = std::make_unique<control::Brain>(*slots_);
  publisher_ = std::make_unique<proxy::Publisher>(
      workers, [this](std::uint32_t worker) { pool_->wake(worker); });
  pool_ = std::make_unique<WorkerPool>(
      reactor_, *slots_, *publisher_,
      WorkerPool::Options{workers, options_.seed, limits_of(*document)},
      static_cast<PoolEvents&>(*this));
  prober_ = std::make_unique<probe::Prober>(reactor_, static_cast<probe::SampleSink&>(*this),
                                            probe::ProberOptions{.seed = options_.seed});
  drivers_ = std::make_unique<apply::Drivers>(reactor_, static_cast<apply::Events&>(*this));
  timer_ = reactor_.timer(*this);

  Bound bound;
  if (auto done = bind(*document, bound); !done) return done;
  if (auto done = take(document, bound); !done) return done;
  if (const auto blob = provider_.state(); !blob.empty()) {
    const auto bytes = std::as_bytes(std::span(blob.data(), blob.size()));
    if (auto restored = brain_->restore(bytes, reactor_.now()); !restored) {
      log_.event("state_ignored", {{"reason", restored.error().describe()}});
    }
  }
  run_tick();
  if (auto started = pool_->start(); !started) return started;
  serve(document, std::move(bound));
  last_reload_ = io::wall_now();
  return {};
}

base::Result<void> Engine::reload(const DocumentPtr& document) {
  if (!settled()) {
    return base::Error{base::Code::kConflict, base::Origin::kUs, true,
                       "listeners of the last reload are still being emptied"};
  }
  Bound bound;
  auto done = bind(*document, bound);
  if (done) done = take(document, bound);
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
  auto socket = io::listen_tcp(document.admin.address, {.backlog = 64, .reuse_port = false});
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
base::Result<void> Engine::take(const DocumentPtr& document, Bound& bound) {
  auto access = admin::Access::make(document->admin);
  if (!access) return access.error();
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
  const auto number = config_ != nullptr ? config_->number + 1 : 1;
  config_ = proxy::Config::make(number, document->proxy, document->listeners);
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
    server_ = std::make_unique<wire::Server>(
        reactor_, wire::ServerOptions{}, [this](const wire::Request& request, wire::Reply reply) {
          api_->handle(request, std::move(reply));
        });
    server_->listen(std::move(bound.admin));
    admin_bound_ = bound.admin_address;
  }
  aim_probes();
}

void Engine::keep_sockets() {
  std::vector<base::Address> kept;
  if (document_ != nullptr) {
    for (const auto& listener : document_->listeners) kept.push_back(listener.address);
  }
  for (const auto& [address, worker] : stopping_) kept.push_back(address);
  provider_.keep_only(kept);
}

void Engine::aim_probes() { prober_->set_targets(probe_targets(*document_, *brain_)); }

void Engine::stop(base::Duration idle, base::Duration limit) {
  draining_ = true;
  const auto now = reactor_.now();
  pool_->drain(now + idle, now + limit);
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
  publisher_->collect(now);
  brain_->workers_past(publisher_->table_taken());
  if (moved || now - saved_ >= kSaveEvery) {
    const auto blob = brain_->save(now);
    provider_.put_state({reinterpret_cast<const char*>(blob.data()), blob.size()});
    saved_ = now;
  }
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

void Engine::on_time() noexcept { run_tick(); }

void Engine::on_urgent() {
  const auto soon = reactor_.now() + kUrgentDelay;
  if (next_tick_ <= soon) return;
  next_tick_ = soon;
  timer_->at(soon);
}

void Engine::on_taken() {
  publisher_->collect(reactor_.now());
  brain_->workers_past(publisher_->table_taken());
}

void Engine::on_listener_stopped(const base::Address& address, std::uint32_t worker) {
  std::erase(stopping_, std::pair{address, worker});
  if (!draining_) keep_sockets();
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
