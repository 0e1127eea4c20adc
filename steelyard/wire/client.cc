#include "steelyard/wire/client.h"

#include "steelyard/wire/client_exchange.h"

namespace steelyard::wire {

ClientCore::ClientCore(io::Reactor& reactor)
    : reactor_(reactor), pool_(http::make_http1_pool({.max_head = 16 * 1024, .max_body = 0})) {}

ClientExchange& ClientCore::take(std::uint32_t& slot) {
  if (free_.empty()) {
    exchanges_.push_back(
        std::make_unique<ClientExchange>(*this, static_cast<std::uint32_t>(exchanges_.size())));
    free_.push_back(static_cast<std::uint32_t>(exchanges_.size() - 1));
    free_.reserve(exchanges_.size());
  }
  slot = free_.back();
  free_.pop_back();
  return *exchanges_[slot];
}

ClientExchange* ClientCore::find(std::uint32_t slot, std::uint64_t generation) noexcept {
  ClientExchange& exchange = *exchanges_[slot];
  return exchange.generation() == generation && exchange.pending() ? &exchange : nullptr;
}

void Call::cancel() noexcept {
  if (core_ == nullptr) return;
  ClientCore& core = *std::exchange(core_, nullptr);
  if (ClientExchange* exchange = core.find(slot_, generation_)) exchange->cancel();
}

bool Call::pending() const noexcept {
  return core_ != nullptr && core_->find(slot_, generation_) != nullptr;
}

Client::Client(io::Reactor& reactor) : core_(std::make_unique<ClientCore>(reactor)) {}
Client::~Client() = default;

Call Client::send(const base::Address& to, const Request& request, const CallOptions& options,
                  Done done) {
  std::uint32_t slot = 0;
  ClientExchange& exchange = core_->take(slot);
  exchange.begin_send(to, request, options, std::move(done));
  return {*core_, slot, exchange.generation()};
}

Call Client::open(const base::Address& to, base::Duration timeout, Opened done) {
  std::uint32_t slot = 0;
  ClientExchange& exchange = core_->take(slot);
  exchange.begin_open(to, timeout, std::move(done));
  return {*core_, slot, exchange.generation()};
}

std::size_t Client::pending() const noexcept { return core_->pending; }

}  // namespace steelyard::wire
