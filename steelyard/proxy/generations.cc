#include "steelyard/proxy/generations.h"

#include <algorithm>

namespace steelyard::proxy {

void Generations::take(const Config& config, const model::Table& table) {
  if (live_.empty() || live_.back()->config != &config) {
    auto made = std::make_unique<Generation>();
    made->config = &config;
    live_.push_back(std::move(made));
  }
  for (const auto& generation : live_) {
    const auto& names = generation->config->upstreams;
    generation->places.assign(names.size(), std::nullopt);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto at = std::find_if(table.upstreams.begin(), table.upstreams.end(),
                                   [&](const auto& upstream) { return upstream.name == names[i]; });
      if (at != table.upstreams.end()) {
        generation->places[i] = static_cast<std::uint32_t>(at - table.upstreams.begin());
      }
    }
  }
}

void Generations::drop_unused() noexcept {
  if (live_.size() < 2) return;
  const auto current = live_.back().get();
  std::erase_if(live_, [&](const auto& g) { return g->users == 0 && g.get() != current; });
}

}  // namespace steelyard::proxy
