#include "steelyard/proxy/worker.h"

#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

Worker::Worker(io::Reactor& reactor, const WorkerOptions& options, const model::Slots& slots,
               Published& published, WorkerEvents& events)
    : core_(std::make_unique<Core>(reactor, options, slots, published, events)) {}

Worker::~Worker() = default;

void Worker::turn(base::TimePoint until) { core_->turn(until); }

void Worker::add_listener(const io::Fd& socket, const base::Address& address) {
  core_->add_listener(socket, address);
}

void Worker::remove_listener(const base::Address& address) { core_->remove_listener(address); }

void Worker::hand_over(const base::Address& address) { core_->hand_over(address); }

void Worker::drain(base::TimePoint idle_until, base::TimePoint limit,
                   base::TimePoint accept_until) {
  core_->drain(idle_until, limit, accept_until);
}

bool Worker::draining() const noexcept { return core_->draining(); }
bool Worker::finished() const noexcept { return core_->finished(); }
std::size_t Worker::connections() const noexcept { return core_->clients.size(); }
std::size_t Worker::exchanges() const noexcept { return core_->live_exchanges; }
std::size_t Worker::objects() const noexcept { return core_->objects(); }
std::size_t Worker::widened() const noexcept { return core_->widened; }
const WorkerMetrics& Worker::metrics() const noexcept { return core_->metrics; }

}  // namespace steelyard::proxy
