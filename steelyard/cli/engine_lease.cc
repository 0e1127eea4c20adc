// The engine's part in having one brain at a time: what it does when the lease comes and goes, and
// what it leaves for the next.
#include <algorithm>
#include <fmt/format.h>

#include "steelyard/cli/engine.h"
#include "steelyard/cli/engine_setup.h"
#include "steelyard/io/listener_set.h"

namespace steelyard::cli {

void Engine::restore() {
  const auto blob = provider_.state();
  if (blob.empty()) return;
  const auto bytes = std::as_bytes(std::span(blob.data(), blob.size()));
  if (auto restored = brain_->restore(bytes, reactor_.now()); !restored) {
    log_.event("state_ignored", {{"reason", restored.error().describe()}});
  } else {
    log_.event("state_restored", {{"bytes", fmt::format("{}", blob.size())}});
  }
}

void Engine::save() {
  saved_ = reactor_.now();
  const auto blob = brain_->save(saved_);
  provider_.put_state({reinterpret_cast<const char*>(blob.data()), blob.size()});
}

void Engine::open_admin(io::Fd socket) {
  server_ = std::make_unique<wire::Server>(
      reactor_, wire::ServerOptions{}, [this](const wire::Request& request, wire::Reply reply) {
        // On a connection that was kept: what it asks must be answered by who has the lease.
        if (!leased_) return reply.send(wire::Response::text(503, "another engine took over\n"));
        api_->handle(request, std::move(reply));
      });
  server_->listen(std::move(socket));
}

void Engine::give_back() {
  if (!leased_) return;
  save();
  leased_ = false;
  timer_->cancel();
  // Stops at once, touches nothing and drops its locks; whoever comes next repairs what is half
  // done.
  drivers_ = std::make_unique<apply::Drivers>(reactor_, static_cast<apply::Events&>(*this));
  prober_->set_targets({});
  if (server_ == nullptr) return;
  server_->drain([this, old = server_.get()] {
    if (server_.get() == old) server_.reset();
  });
}

void Engine::take_back() {
  if (leased_) return;
  leased_ = true;
  if (const auto done = drivers_->configure(driver_targets(*document_)); !done) {
    log_.event("drivers_refused", {{"reason", done.error().describe()}});
  }
  if (auto socket = provider_.listener(document_->admin.address, io::ListenerSet::kAdmin)) {
    open_admin(std::move(*socket));
  } else {
    log_.event("admin_refused", {{"reason", socket.error().describe()}});
  }
  aim_probes();
  run_tick();
  drivers_->want(*brain_->table());
}

void Engine::hand_over(std::span<const base::Address> kept, base::Duration idle,
                       base::Duration limit) {
  std::vector<base::Address> theirs;
  for (const auto& listener : document_->listeners) {
    if (std::ranges::find(kept, listener.address) != kept.end()) {
      theirs.push_back(listener.address);
    }
  }
  draining_ = true;
  const auto now = reactor_.now();
  pool_->hand_over(theirs, now + idle, now + limit);
}

}  // namespace steelyard::cli
