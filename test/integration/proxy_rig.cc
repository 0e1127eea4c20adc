#include "test/integration/proxy_rig.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "steelyard/io/clock.h"

#include "test/io/backend_env.h"

namespace steelyard::integration {

using namespace std::chrono_literals;

ProxyRig::ProxyRig(Setup setup, std::vector<RigNode> nodes)
    : slots(64, setup.workers), setup_(std::move(setup)) {
  base::Address address = base::Address::loopback(0);
  for (unsigned w = 0; w < setup_.workers; ++w) {
    auto running = std::make_unique<Running>(*this);
    running->socket = *io::listen_tcp(address);
    if (setup_.muted) (void)io::stop_new_connections(running->socket);
    if (setup_.shared) sleepers_.push_back(std::make_unique<Sleeper>(running->socket));
    address = *io::local_address(running->socket);
    workers_.push_back(std::move(running));
  }
  port_ = address.port();
  publisher_ = std::make_unique<proxy::Publisher>(setup_.workers, [this](std::uint32_t w) {
    if (workers_[w]->ready) workers_[w]->reactor->post(io::make_task([] {}));
  });
  publish_config();
  publish(nodes);
  for (unsigned w = 0; w < setup_.workers; ++w) {
    Running& running = *workers_[w];
    running.thread = std::make_unique<io::Thread>("worker-" + std::to_string(w),
                                                  [this, &running, w] { run(running, w); });
  }
  for (auto& running : workers_) {
    while (!running->ready) std::this_thread::yield();
  }
}

ProxyRig::Sleeper::Sleeper(const io::Fd& socket) : reactor(io::reactor_of_environment()) {
  listener = reactor->listen(socket, *this);
  listener->grant(64);
  reactor->run_turn(io::steady_now());
}

void ProxyRig::run(Running& running, unsigned index) {
  const auto reactor = io::reactor_of_environment();
  running.reactor = reactor.get();
  proxy::WorkerOptions options;
  options.index = index;
  options.workers = setup_.workers;
  options.seed = setup_.seed * 1000 + index;
  running.worker = std::make_unique<proxy::Worker>(*running.reactor, options, slots,
                                                   publisher_->cell(index), running);
  running.worker->add_listener(running.socket, base::Address::loopback(0));
  running.ready = true;
  while (!running.stop) running.worker->turn(io::steady_now() + 10s);
  running.worker.reset();
  while (!running.let_go) reactor->run_turn(io::steady_now() + 1ms);
}

ProxyRig::~ProxyRig() {
  for (auto& running : workers_) {
    running->reactor->post(io::make_task([&r = *running] { r.stop = true; }));
  }
  for (auto& running : workers_) running->let_go = true;
  for (auto& running : workers_) running->thread->join();
}

std::uint64_t ProxyRig::slot_attempts(model::NodeRef ref) const {
  std::uint64_t sum = 0;
  for (unsigned w = 0; w < setup_.workers; ++w) sum += slots.cells(ref, w).attempts.read();
  return sum;
}

std::uint64_t ProxyRig::publish(const std::vector<RigNode>& nodes) {
  collect();
  auto made = std::make_shared<model::Table>();
  made->number = ++tables_;
  model::TableUpstream upstream{"api", {}, false};
  for (auto& known : known_) {
    const bool stays = std::any_of(nodes.begin(), nodes.end(),
                                   [&](const RigNode& node) { return node.name == known.name; });
    if (!stays && known.listed) {
      known.listed = false;
      known.left_at = tables_;
    }
  }
  for (const auto& node : nodes) {
    auto at = std::find_if(known_.begin(), known_.end(), [&](const Known& known) {
      return known.listed && known.name == node.name;
    });
    if (at == known_.end()) {
      const auto ref = slots.claim();
      if (!ref) continue;
      at = known_.insert(known_.end(), {node.name, *ref, true, 0, slot_attempts(*ref)});
    }
    upstream.nodes.push_back(
        {at->ref, node.name, base::Address::loopback(node.port), node.weight, node.eligibility});
  }
  made->upstreams.push_back(std::move(upstream));
  table_ = pick::Table::make(std::move(made), {pick::find(setup_.picker)});
  return publisher_->publish(config_, table_);
}

void ProxyRig::publish_config() {
  proxy::ListenerOptions listener;
  listener.address = base::Address::loopback(0);
  request::RouteOptions route;
  route.upstream = "api";
  route.timeouts = setup_.timeouts;
  route.retry = setup_.retry;
  listener.routes.push_back(route);
  config_ = proxy::Config::make(++configs_, setup_.options, {listener}, {{{"api", setup_.rules}}});
  if (table_ != nullptr) publisher_->publish(config_, table_);
}

void ProxyRig::collect() {
  publisher_->collect(io::steady_now());
  std::erase_if(known_, [&](const Known& known) {
    if (known.listed || publisher_->table_taken() < known.left_at) return false;
    std::uint64_t pooled = 0;
    for (unsigned w = 0; w < setup_.workers; ++w) pooled += slots.cells(known.ref, w).pooled.read();
    if (pooled > 0 || slots.in_flight(known.ref) > 0) return false;
    gone_ += slot_attempts(known.ref) - known.baseline;
    slots.release(known.ref);
    return true;
  });
}

bool ProxyRig::wait_taken(std::uint64_t record) {
  bool done = false;
  bool all = false;
  publisher_->when_taken(record, io::steady_now() + 1s, [&](const auto& silent) {
    done = true;
    all = silent.empty();
  });
  while (!done) {
    publisher_->collect(io::steady_now());
    std::this_thread::yield();
  }
  return all;
}

std::uint64_t ProxyRig::attempts(const std::string& name) {
  for (const auto& known : known_) {
    if (known.listed && known.name == name) return slot_attempts(known.ref) - known.baseline;
  }
  return 0;
}

std::uint64_t ProxyRig::attempts_ever() {
  std::uint64_t sum = gone_;
  for (const auto& known : known_) sum += slot_attempts(known.ref) - known.baseline;
  return sum;
}

bool ProxyRig::in_flight_zero() {
  const auto limit = io::steady_now() + 5s;
  while (io::steady_now() < limit) {
    if (std::all_of(known_.begin(), known_.end(),
                    [&](const Known& known) { return slots.in_flight(known.ref) == 0; })) {
      return true;
    }
    std::this_thread::yield();
  }
  return false;
}

void ProxyRig::close_sockets() {
  for (auto& running : workers_) running->socket.reset();
}

std::uint32_t ProxyRig::highest_generation() const {
  std::uint32_t highest = 0;
  for (const auto& known : known_) highest = std::max(highest, known.ref.generation);
  return highest;
}

void ProxyRig::drain() {
  const auto now = io::steady_now();
  const auto& drain = setup_.options.drain;
  for (auto& running : workers_) {
    running->reactor->post(io::make_task(
        [&r = *running, now, &drain] { r.worker->drain(now + drain.idle, now + drain.limit); }));
  }
  const auto limit = now + drain.limit + 5s;
  for (auto& running : workers_) {
    while (!running->drained && io::steady_now() < limit) std::this_thread::sleep_for(1ms);
  }
}

}  // namespace steelyard::integration
