#include <algorithm>
#include <cassert>
#include <utility>

#include "steelyard/io/sim_reactor.h"

namespace steelyard::io {

namespace {

constexpr std::size_t kAcceptsOutstanding = 4;

}  // namespace

class SimReactorImpl::ListenerHandle final : public Listener, public Pooled {
 public:
  ListenerHandle(SimReactorImpl& reactor, ListenerPtr record)
      : reactor_(reactor), record_(std::move(record)) {}
  ListenerHandle(const ListenerHandle&) = delete;
  ListenerHandle& operator=(const ListenerHandle&) = delete;
  ~ListenerHandle() override { reactor_.release(record_); }
  void grant(unsigned n) noexcept override {
    record_->credit += n;
    reactor_.submit_accepts(record_);
  }
  void stop() noexcept override { reactor_.stop(record_); }

 private:
  SimReactorImpl& reactor_;
  ListenerPtr record_;
};

std::unique_ptr<Listener> SimReactorImpl::listen(const Fd& socket, AcceptEvents& events) {
  auto l = std::make_shared<ListenerRecord>();
  l->events = &events;
  l->socket = net_.find(socket);
  assert(l->socket && l->socket->listening && "listen on a foreign descriptor");
  l->socket->changed = [this, weak = std::weak_ptr<ListenerRecord>(l)] {
    if (const auto still = weak.lock()) submit_accepts(still);
  };
  ++listeners_;
  return std::unique_ptr<Listener>(new (handles_) ListenerHandle(*this, l));
}

void SimReactorImpl::submit_accepts(const ListenerPtr& l) {
  while (!l->stopping && l->events != nullptr && l->credit > 0 &&
         l->outstanding < kAcceptsOutstanding) {
    --l->credit;
    ++l->outstanding;
    ++outstanding_;
  }
  const std::size_t able = std::min(l->outstanding, l->socket->backlog.size());
  while (l->due < able) {
    ++l->due;
    net_.after([this, l] { complete_accept(l); });
  }
}

void SimReactorImpl::complete_accept(const ListenerPtr& l) {
  --outstanding_;
  --l->outstanding;
  --l->due;
  auto& backlog = l->socket->backlog;
  if (!backlog.empty()) {  // also after stop(): it was taken before the cancellation reached it
    const SimSocketPtr taken = backlog.front();
    backlog.pop_front();
    if (l->events == nullptr) {
      net_.reset(taken);
    } else {
      l->events->on_accept(net_.token(taken), taken->remote);
    }
  }
  submit_accepts(l);
  if (l->stopping && l->outstanding == 0 && !std::exchange(l->stopped, true) &&
      l->events != nullptr) {
    l->events->on_stopped();
  }
}

void SimReactorImpl::stop(const ListenerPtr& l) {
  if (std::exchange(l->stopping, true)) return;
  if (l->outstanding == 0) {
    net_.after([l] {
      if (!std::exchange(l->stopped, true) && l->events != nullptr) l->events->on_stopped();
    });
  }
  while (l->due < l->outstanding) {  // cancelled: each finishes, with a connection or without
    ++l->due;
    net_.after([this, l] { complete_accept(l); });
  }
}

void SimReactorImpl::release(const ListenerPtr& l) noexcept {
  --listeners_;
  l->events = nullptr;
  stop(l);
}

}  // namespace steelyard::io
