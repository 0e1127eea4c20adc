#include "steelyard/wire/server.h"

#include <algorithm>

#include "steelyard/wire/server_connection.h"

namespace steelyard::wire {
namespace {

constexpr auto kGrace = std::chrono::seconds(1);

}  // namespace

Reply& Reply::operator=(Reply&& other) noexcept {
  if (this != &other) {
    if (open_) send(Response::text(500, "no answer was given\n"));
    core_ = std::move(other.core_);
    slot_ = other.slot_;
    generation_ = other.generation_;
    open_ = std::exchange(other.open_, false);
  }
  return *this;
}

Reply::~Reply() {
  if (open_) send(Response::text(500, "no answer was given\n"));
}

void Reply::send(Response response) noexcept {
  if (!std::exchange(open_, false)) return;
  if (const auto core = core_.lock())
    core->connection(slot_).answer(generation_, std::move(response));
}

void Reply::abort() noexcept {
  if (!std::exchange(open_, false)) return;
  if (const auto core = core_.lock()) core->connection(slot_).abort(generation_);
}

bool Reply::alive() const noexcept {
  const auto core = core_.lock();
  return open_ && core != nullptr && core->connection(slot_).waits(generation_);
}

ServerCore::ServerCore(io::Reactor& reactor, const ServerOptions& options, Server::Handler handler)
    : reactor_(reactor),
      options_(options),
      handler_(std::move(handler)),
      pool_(http::make_http1_pool({.max_head = 32 * 1024, .max_body = options.max_body})),
      timer_(reactor.timer(*this)) {}

ServerCore::Door::Door(ServerCore& owner, io::Fd socket) : core(&owner), fd(std::move(socket)) {
  listener = core->reactor().listen(fd, *this);
  listener->grant(1);
}

void ServerCore::Door::on_accept(io::Fd socket, const base::Address& peer) noexcept {
  core->accepted(*this, std::move(socket), peer);
}

void ServerCore::Door::on_stopped() noexcept {
  stopped = true;
  core->check_stopped();
}

void ServerCore::listen(io::Fd socket) {
  doors_.push_back(std::make_unique<Door>(*this, std::move(socket)));
}

void ServerCore::accepted(Door& door, io::Fd socket, const base::Address& peer) {
  if (free_.empty()) {
    connections_.push_back(
        std::make_unique<ServerConnection>(*this, static_cast<std::uint32_t>(connections_.size())));
    free_.push_back(static_cast<std::uint32_t>(connections_.size() - 1));
    free_.reserve(connections_.size());
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  ++open_;
  connections_[slot]->begin(std::move(socket), peer);
  if (draining_) {
    connections_[slot]->drain();
  } else if (open_ < options_.max_connections || make_room()) {
    door.listener->grant(1);
  } else {
    door.paused = true;
    timer_->at(reactor_.now() + kGrace);
  }
}

// At the cap the connection that has been idle longest gives way, so that silent clients cannot
// lock others out; not before a request had time to arrive.
bool ServerCore::make_room() {
  ServerConnection* oldest = nullptr;
  for (const auto& connection : connections_) {
    if (!connection->idle()) continue;
    if (oldest == nullptr || connection->idle_since() < oldest->idle_since()) {
      oldest = connection.get();
    }
  }
  if (oldest == nullptr || reactor_.now() - oldest->idle_since() < kGrace) return false;
  oldest->give_way();
  return true;
}

void ServerCore::on_time() noexcept {
  const bool waiting = std::ranges::any_of(doors_, [](const auto& door) { return door->paused; });
  if (waiting && !draining_ && !make_room()) timer_->at(reactor_.now() + kGrace);
}

void ServerCore::handle(const Request& request, std::uint32_t slot, std::uint64_t ticket) {
  handler_(request, Reply(weak_from_this(), slot, ticket));
}

void ServerCore::gone(std::uint32_t slot) {
  free_.push_back(slot);
  --open_;
  if (draining_) {
    check_stopped();
    return;
  }
  for (const auto& door : doors_) {
    if (std::exchange(door->paused, false)) door->listener->grant(1);
  }
}

void ServerCore::drain(std::function<void()> stopped) {
  draining_ = true;
  stopped_ = std::move(stopped);
  for (const auto& door : doors_) door->listener->stop();
  for (const auto& connection : connections_) {
    if (connection->in_use()) connection->drain();
  }
  check_stopped();
}

// The caller hears of it in a turn of its own, where it may destroy the Server.
void ServerCore::check_stopped() {
  if (!draining_ || open_ > 0 || !stopped_) return;
  for (const auto& door : doors_) {
    if (!door->stopped) return;
  }
  reactor_.post(io::make_task(std::exchange(stopped_, nullptr)));
}

Server::Server(io::Reactor& reactor, const ServerOptions& options, Handler handler)
    : core_(std::make_shared<ServerCore>(reactor, options, std::move(handler))) {}
Server::~Server() = default;
void Server::listen(io::Fd socket) { core_->listen(std::move(socket)); }
void Server::drain(std::function<void()> stopped) { core_->drain(std::move(stopped)); }
std::size_t Server::connections() const noexcept { return core_->open(); }

}  // namespace steelyard::wire
