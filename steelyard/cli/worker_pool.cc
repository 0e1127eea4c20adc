#include "steelyard/cli/worker_pool.h"

#include <optional>
#include <string>

#include "steelyard/io/clock.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/thread.h"

namespace steelyard::cli {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(10);

}  // namespace

// One worker: its thread, and what control knows of it. The pointers are set and cleared on the
// control thread, between the worker's "ready" and its "finished".
struct WorkerPool::Seat final : proxy::WorkerEvents {
  Seat(WorkerPool& owner, std::uint32_t number) : pool(owner), index(number) {}

  void run() {
    const auto own = io::make_epoll_reactor();
    proxy::Worker proxy_worker(*own,
                               {.index = index,
                                .workers = pool.options_.workers,
                                .seed = pool.options_.seed + index,
                                .limits = pool.options_.limits,
                                .server_codec = {},
                                .client_codec = {}},
                               pool.slots_, pool.publisher_.cell(index), *this);
    to_control([this, own = own.get(), worker = &proxy_worker] {
      reactor = own;
      this->worker = worker;
      pool.on_ready(*this);
    });
    while (!proxy_worker.finished()) proxy_worker.turn(base::TimePoint::max());
    to_control([this] { pool.on_finished(*this); });
    while (!let_go) own->run_turn(base::TimePoint::max());
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

  WorkerPool& pool;
  std::uint32_t index;
  std::optional<io::Thread> thread;
  io::Reactor* reactor = nullptr;           // control's view
  proxy::Worker* worker = nullptr;          // used on the worker's thread only, in posted tasks
  bool let_go = false;                      // worker's thread
  std::map<base::Address, io::Fd> sockets;  // control; lent to the worker
};

WorkerPool::WorkerPool(io::Reactor& control, const model::Slots& slots, proxy::Publisher& publisher,
                       const Options& options, PoolEvents& events)
    : control_(control), slots_(slots), publisher_(publisher), options_(options), events_(events) {
  for (std::uint32_t i = 0; i < options.workers; ++i) {
    seats_.push_back(std::make_unique<Seat>(*this, i));
  }
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::end() {
  drain(base::TimePoint{}, base::TimePoint{});
  while (!gone()) control_.run_turn(base::TimePoint::max());
}

std::uint32_t WorkerPool::workers() const noexcept { return options_.workers; }

base::Result<void> WorkerPool::start() {
  for (auto& seat : seats_) {
    ++alive_;
    seat->thread.emplace("worker-" + std::to_string(seat->index), [at = seat.get()] { at->run(); });
  }
  const auto limit = io::steady_now() + kStartLimit;
  while (ready_ < options_.workers && io::steady_now() < limit) control_.run_turn(limit);
  if (ready_ == options_.workers) return {};
  return base::Error{.code = base::Code::kTimeout,
                     .origin = base::Origin::kUs,
                     .retry_safe = false,
                     .text = "a worker thread did not start within 10 s"};
}

void WorkerPool::on_ready(Seat& /*seat*/) { ++ready_; }

void WorkerPool::on_finished(Seat& seat) {
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

void WorkerPool::drain(base::TimePoint idle_until, base::TimePoint limit) {
  for (auto& seat : seats_) {
    seat->to_worker([at = seat.get(), idle_until, limit] { at->worker->drain(idle_until, limit); });
  }
}

std::vector<const proxy::WorkerMetrics*> WorkerPool::metrics() const {
  std::vector<const proxy::WorkerMetrics*> out;
  for (const auto& seat : seats_) {
    if (seat->worker != nullptr) out.push_back(&seat->worker->metrics());
  }
  return out;
}

}  // namespace steelyard::cli
