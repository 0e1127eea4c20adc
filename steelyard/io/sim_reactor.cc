#include "steelyard/io/sim_reactor.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace steelyard::io {

namespace {

constexpr int kCanaryByte = 0xa5;
constexpr std::size_t kTurnEvents = 256;
constexpr std::uint64_t kSweepTurns = 16;
constexpr Duration kTurn = std::chrono::nanoseconds(100);

}  // namespace

std::unique_ptr<SimReactor> make_sim_reactor(const SimOptions& options) {
  return std::make_unique<SimReactorImpl>(options);
}

SimBlock* SimBlock::make(std::size_t size, std::size_t& total) {
  auto block = std::make_unique<SimBlock>();
  block->release = &released;
  block->memory = std::make_unique<std::byte[]>(size + 2 * kCanary);
  block->size = size;
  block->total = &total;
  total += size;
  std::memset(block->memory.get(), kCanaryByte, size + 2 * kCanary);
  return block.release();  // its last Buf deletes it
}

void SimBlock::released(base::Storage* storage) noexcept {
  const std::unique_ptr<SimBlock> block(static_cast<SimBlock*>(storage));
  *block->total -= block->size;
  for (std::size_t i = 0; i < kCanary; ++i) {
    if (block->memory[i] != std::byte{kCanaryByte} ||
        block->memory[kCanary + block->size + i] != std::byte{kCanaryByte}) {
      std::fputs("steelyard: a buffer was written outside its bounds\n", stderr);
      std::abort();
    }
  }
}

class SimReactorImpl::WatchHandle final : public Watch, public Pooled {
 public:
  WatchHandle(SimReactorImpl& reactor, std::shared_ptr<WatchRecord> record)
      : reactor_(reactor), record_(std::move(record)) {}
  WatchHandle(const WatchHandle&) = delete;
  WatchHandle& operator=(const WatchHandle&) = delete;
  ~WatchHandle() override {
    record_->events = nullptr;
    --reactor_.watch_count_;
  }

 private:
  SimReactorImpl& reactor_;
  std::shared_ptr<WatchRecord> record_;
};

class SimReactorImpl::Peer final : public SimPeer {
 public:
  Peer(SimNet& net, SimSocketPtr socket) : net_(net), socket_(std::move(socket)) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() override { net_.close(socket_); }
  std::size_t send(std::string_view text) override {
    if (socket_->closed || socket_->fin_out || socket_->reset_in) return 0;
    const std::size_t most = std::min(text.size(), net_.room(*socket_));
    if (most > 0) net_.send(socket_, std::string(text.substr(0, most)));
    return most;
  }
  void end() override { net_.end(socket_); }
  void reset() override { net_.reset(socket_); }
  [[nodiscard]] std::string read(std::size_t most) override { return net_.receive(*socket_, most); }
  [[nodiscard]] bool ended() const override { return socket_->fin_in && socket_->unread.empty(); }
  [[nodiscard]] bool was_reset() const override { return socket_->reset_in; }

 private:
  SimNet& net_;
  SimSocketPtr socket_;
};

SimReactorImpl::SimReactorImpl(const SimOptions& options)
    : options_(options), net_(options), now_(net_.now()) {}

SimReactorImpl::~SimReactorImpl() {
  mailbox_.take(tasks_);
  tasks_.clear();
  net_.forget_events();  // operations still outstanding die with their records
}

Slab SimReactorImpl::slab(std::size_t bytes) {
  SimBlock* const block = SimBlock::make(bytes, slab_bytes_);
  return Slab(block, block->data(), bytes);
}

std::unique_ptr<Watch> SimReactorImpl::watch(const Fd& fd, WatchEvents& events) {
  auto record = std::make_shared<WatchRecord>();
  record->events = &events;
  record->fd = fd.get();
  watches_.push_back(record);
  ++watch_count_;
  return std::unique_ptr<Watch>(new (handles_) WatchHandle(*this, std::move(record)));
}

void SimReactorImpl::make_ready(const Fd& fd) {
  std::erase_if(watches_, [](const auto& weak) { return weak.expired(); });
  for (const auto& weak : watches_) {
    const auto record = weak.lock();
    if (!record || record->fd != fd.get()) continue;
    net_.after([record] {
      if (record->events != nullptr) record->events->on_ready();
    });
  }
}

ReactorStats SimReactorImpl::stats() const noexcept {
  return {.streams = streams_,
          .listeners = listeners_,
          .timers = timers_.in_use(),
          .watches = watch_count_,
          .slab_bytes = slab_bytes_,
          .receive_bytes = receive_bytes_,
          .turns = turns_,
          .accept_pauses = 0};
}

Fd SimReactorImpl::listener(const Address& address) { return net_.token(net_.listen(address)); }

Address SimReactorImpl::address_of(const Fd& socket) const {
  const auto found = net_.find(socket);
  return found ? found->local : Address{};
}

std::pair<Fd, Fd> SimReactorImpl::pair() {
  const auto [one, two] = net_.connected({}, {});
  Fd first = net_.token(one);
  return {std::move(first), net_.token(two)};
}

std::unique_ptr<SimPeer> SimReactorImpl::peer(Fd socket) {
  auto taken = net_.take(std::move(socket));
  assert(taken && "peer of a foreign descriptor");
  return std::make_unique<Peer>(net_, std::move(taken));
}

std::unique_ptr<SimPeer> SimReactorImpl::dial(const Address& to) {
  const auto listener = net_.listener_at(to);
  if (!listener) return nullptr;
  return std::make_unique<Peer>(net_, net_.dial(listener));
}

void SimReactorImpl::run_turn(TimePoint until) {
  assert(!running_ && "run_turn inside a callback");
  running_ = true;
  ++turns_;
  // Looking costs a system call; who dials a listener looks too.
  if (turns_ % kSweepTurns == 0 || net_.has_loose_tokens()) net_.sweep();
  mailbox_.take(tasks_);
  // A turn takes a moment, so that callers which make work in each turn do not stop the clock.
  const TimePoint moment = net_.now() + kTurn;
  const TimePoint next = std::min(net_.next(), timers_.next());
  if (!tasks_.empty()) {
    net_.advance(std::min(until, moment));
  } else if (until != TimePoint::max() || next != TimePoint::max()) {
    net_.advance(std::min(until, std::max(next, moment)));
  }
  now_ = net_.now();
  for (std::size_t i = 0; i < kTurnEvents && net_.run_one_due(); ++i) {
  }
  timers_.run(now_, [](std::uint8_t, std::uint32_t, std::uint32_t) {}, [] {});
  for (auto& task : tasks_) {
    task->run();
    task.reset();
  }
  tasks_.clear();
  running_ = false;
}

}  // namespace steelyard::io
