#include "steelyard/proxy/published.h"

#include <algorithm>

namespace steelyard::proxy {

std::shared_ptr<const Config> Config::make(std::uint64_t number, const Options& options,
                                           const std::vector<ListenerOptions>& listeners) {
  auto config = std::make_shared<Config>();
  config->number = number;
  config->clients = options.clients;
  config->pool = options.pool;
  for (const auto& listener : listeners) {
    ListenerConfig made{listener.address, request::Router(listener.routes), {}};
    for (const auto& route : listener.routes) {
      auto at = std::find(config->upstreams.begin(), config->upstreams.end(), route.upstream);
      if (at == config->upstreams.end()) at = config->upstreams.insert(at, route.upstream);
      made.routes.push_back({request::Policy{route.timeouts, route.retry},
                             static_cast<std::uint32_t>(at - config->upstreams.begin())});
    }
    config->listeners.push_back(std::move(made));
  }
  return config;
}

}  // namespace steelyard::proxy
