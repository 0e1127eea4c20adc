#include "steelyard/cli/worker_pool.h"

#include <optional>
#include <string>

#include "steelyard/io/clock.h"
#include "steelyard/io/thread.h"

namespace steelyard::cli {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(10);
constexpr auto kLongestWait = std::chrono::seconds(1);  // so that an idle loop beats too

}  // namespace

// One worker: its thread, and what control knows of it. The pointers are set and cleared on the
// control thread, between the worker's "ready" and its "finished".
struct WorkerPool::Seat final : proxy::WorkerEvents {
  Seat(WorkerPool& owner, std::uint32_t number) : pool(owner), index(number) {}

  void run() {
    auto made = io::make_reactor(pool.options_.io);
    if (!made) {
      return to_control([this, error = made.error()] { pool.on_stillborn(*this, error); });
    }
    const auto own = std::move(*made);
    io::Beating beating(pool.options_.pulse ? pool.options_.pulse(index) : nullptr);
    proxy::Worker proxy_worker(
        *own,
        {.index = index,
         .workers = pool.options_.workers,
         .seed = pool.options_.seed + index,
         .addresses = pool.addresses_,
         .access = pool.options_.access == nullptr ? nullptr : &pool.options_.access->ring(index),
         .most_clients = pool.options_.most_clients,
         .limits = pool.options_.limits,
         .server_codec = {},
         .client_codec = {}},
        pool.slots_, pool.publisher_.cell(index), *this);
    to_control([this, own = own.get(), worker = &proxy_worker] {
      reactor = own;
      this->worker = worker;
      pool.on_ready(*this);
    });
    while (!proxy_worker.finished()) {
      beating.beat();
      proxy_worker.turn(own->now() + kLongestWait);
    }
    to_control([this] { pool.on_finished(*this); });
    while (!let_go) {
      beating.beat();
      own->run_turn(own->now() + kLongestWait);
    }
  }

  template <typename F>
  void to_control(F work) {
    pool.control_.post(io::make_task(std::move(work)));
  }
  template <typename F>
  void to_worker(F work) {
    if (reactor != nullptr) reactor->post(io::make_task(std::move(work)));
  }

  // On the worker's thread.
  void on_urgent(model::NodeRef /*node*/) noexcept override {
    to_control([this] { pool.events_.on_urgent(); });
  }
  void on_taken(std::uint64_t /*record*/) noexcept override {
    to_control([this] { pool.events_.on_taken(); });
  }
  void on_listener_stopped(const base::Address& address) noexcept override {
    to_control([this, address] {
      sockets.erase(address);
      pool.events_.on_listener_stopped(address, index);
    });
  }
  void on_drained() noexcept override {}
  void on_overload(proxy::Stage stage, std::size_t used, std::size_t budget) noexcept override {
    to_control(
        [this, stage, used, budget] { pool.events_.on_overload(index, stage, used, budget); });
  }

  WorkerPool& pool;
  std::uint32_t index;
  std::optional<io::Thread> thread;
  io::Reactor* reactor = nullptr;           // control's view
  proxy::Worker* worker = nullptr;          // used on the worker's thread only, in posted tasks
  bool let_go = false;                      // worker's thread
  std::map<base::Address, io::Fd> sockets;  // control; lent to the worker
};

namespace {

std::uint64_t requests_of(const proxy::WorkerMetrics& metrics) {
  std::uint64_t sum = 0;
  for (const auto& answers : metrics.answers) sum += answers.read();
  return sum;
}

}  // namespace

WorkerPool::WorkerPool(io::Reactor& control, const model::Slots& slots, proxy::Publisher& publisher,
                       const Options& options, PoolEvents& events)
    : control_(control),
      slots_(slots),
      publisher_(publisher),
      options_(options),
      events_(events),
      addresses_(std::make_shared<proxy::AddressCounts>(options.seed)) {
  for (std::uint32_t i = 0; i < options.workers; ++i) {
    seats_.push_back(std::make_unique<Seat>(*this, i));
  }
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::end() {
  ending_ = true;
  drain(base::TimePoint{}, base::TimePoint{});
  while (!gone()) control_.run_turn(base::TimePoint::max());
}

std::uint32_t WorkerPool::workers() const noexcept { return options_.workers; }

base::Result<void> WorkerPool::start() {
  for (auto& seat : seats_) {
    auto started = io::Thread::start("worker-" + std::to_string(seat->index),
                                     [at = seat.get()] { at->run(); });
    if (!started) return started.error();
    ++alive_;
    seat->thread.emplace(std::move(*started));
  }
  const auto limit = io::steady_now() + kStartLimit;
  while (ready_ < options_.workers && !stillborn_ && io::steady_now() < limit) {
    control_.run_turn(limit);
  }
  if (stillborn_) return *stillborn_;
  if (ready_ == options_.workers) return {};
  return base::Error{.code = base::Code::kTimeout,
                     .origin = base::Origin::kUs,
                     .retry_safe = false,
                     .text = "a worker thread did not start within 10 s"};
}

void WorkerPool::on_ready(Seat& seat) {
  ++ready_;
  // Another's start failed meanwhile: it was not yet there to be told.
  if (ending_)
    seat.to_worker([at = &seat] { at->worker->drain(base::TimePoint{}, base::TimePoint{}); });
}

void WorkerPool::on_stillborn(Seat& seat, base::Error error) {
  seat.thread.reset();
  publisher_.retire(seat.index);
  --alive_;
  stillborn_ = std::move(error);
}

void WorkerPool::on_finished(Seat& seat) {
  const auto& metrics = seat.worker->metrics();
  requests_ += requests_of(metrics);
  cut_.connections += metrics.cut_connections.read();
  cut_.exchanges += metrics.cut_exchanges.read();
  cut_.tunnels += metrics.cut_tunnels.read();
  seat.to_worker([at = &seat] { at->let_go = true; });
  seat.reactor = nullptr;
  seat.thread.reset();
  seat.worker = nullptr;
  publisher_.retire(seat.index);
  seat.sockets.clear();
  if (--alive_ == 0) events_.on_workers_gone();
}

void WorkerPool::wake(std::uint32_t worker) {
  seats_[worker]->to_worker([] {});
}

void WorkerPool::add_listener(std::uint32_t worker, io::Fd socket, const base::Address& address) {
  Seat& seat = *seats_[worker];
  const io::Fd& kept = seat.sockets.insert_or_assign(address, std::move(socket)).first->second;
  seat.to_worker([at = &seat, fd = &kept, address] { at->worker->add_listener(*fd, address); });
}

void WorkerPool::remove_listener(const base::Address& address) {
  for (auto& seat : seats_) {
    seat->to_worker([at = seat.get(), address] { at->worker->remove_listener(address); });
  }
}

void WorkerPool::drain(base::TimePoint idle_until, base::TimePoint limit,
                       base::TimePoint accept_until) {
  for (auto& seat : seats_) {
    seat->to_worker([at = seat.get(), idle_until, limit, accept_until] {
      at->worker->drain(idle_until, limit, accept_until);
    });
  }
}

// In one task: a listener that stopped before the worker drains would take its idle connections
// with it, unannounced.
void WorkerPool::hand_over(const std::vector<base::Address>& addresses, base::TimePoint idle_until,
                           base::TimePoint limit) {
  for (auto& seat : seats_) {
    seat->to_worker([at = seat.get(), addresses, idle_until, limit] {
      for (const auto& address : addresses) at->worker->hand_over(address);
      at->worker->drain(idle_until, limit);
    });
  }
}

std::uint64_t WorkerPool::requests() const {
  std::uint64_t sum = requests_;
  for (const auto* const metrics : this->metrics()) sum += requests_of(*metrics);
  return sum;
}

std::vector<const proxy::WorkerMetrics*> WorkerPool::metrics() const {
  std::vector<const proxy::WorkerMetrics*> out;
  for (const auto& seat : seats_) {
    if (seat->worker != nullptr) out.push_back(&seat->worker->metrics());
  }
  return out;
}

}  // namespace steelyard::cli
