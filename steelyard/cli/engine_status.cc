// What the engine tells of itself as a process: to the supervisor while it drains, and to people.
#include "steelyard/cli/engine.h"
#include "steelyard/io/process.h"

namespace steelyard::cli {

io::Holding Engine::holding() const {
  io::Holding out;
  for (const auto* worker : pool_->metrics()) {
    out.connections += worker->clients.read();
    out.exchanges += worker->exchanges.read();
    out.tunnels += worker->tunnels_open.read();
  }
  return out;
}

std::uint64_t Engine::trimmed() const {
  std::uint64_t sum = 0;
  for (const auto* worker : pool_->metrics()) sum += worker->trimmed.read();
  return sum;
}

admin::ProcessView Engine::process() {
  admin::ProcessView out{.status = provider_.status(),
                         .engine = io::process_id(),
                         .engine_began = began_,
                         .leased = leased_,
                         .draining = draining_,
                         .workers = pool_->workers(),
                         .version = options_.version,
                         .revision = options_.revision,
                         .config = std::nullopt};
  if (auto* const config = options_.config; config != nullptr) {
    (void)config->look();
    out.config = {.file = config->file(),
                  .sha256 = config->sha256(),
                  .taken = config->taken(),
                  .difference = config->difference()};
  }
  return out;
}

}  // namespace steelyard::cli
