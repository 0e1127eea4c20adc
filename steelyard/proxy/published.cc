#include "steelyard/proxy/published.h"

#include <algorithm>

#include "steelyard/http/access_log.h"
#include "steelyard/http/pattern.h"

namespace steelyard::proxy {
namespace {

class Expression final : public request::Pattern {
 public:
  explicit Expression(http::Pattern pattern) noexcept : pattern_(std::move(pattern)) {}
  [[nodiscard]] bool matches(std::string_view whole) const noexcept override {
    return pattern_.matches(whole);
  }

 private:
  http::Pattern pattern_;
};

base::Result<std::unique_ptr<const request::Pattern>> make_pattern(std::string_view text) {
  auto made = http::Pattern::compile(text);
  if (!made) return made.error();
  return std::unique_ptr<const request::Pattern>(std::make_unique<Expression>(std::move(*made)));
}

// Where the upstream stands among those that routes lead to.
std::uint32_t place_of(Config& config, const std::string& upstream) {
  auto& all = config.upstreams;
  auto at = std::find(all.begin(), all.end(), upstream);
  if (at == all.end()) at = all.insert(at, upstream);
  return static_cast<std::uint32_t>(at - all.begin());
}

Route route_of(Config& config, const request::RouteOptions& options) {
  Route route{{options.timeouts, options.retry, options.hedge},
              {},
              {},
              options.upgrades,
              options.connect,
              options.trace};
  if (options.split.empty()) {
    route.upstreams.push_back(place_of(config, options.upstream));
    return route;
  }
  for (const auto& part : options.split) {
    route.upstreams.push_back(place_of(config, part.upstream));
  }
  route.split = request::Split(options.split, options.split_by);
  return route;
}

bool has_patterns(const std::vector<request::RouteOptions>& routes) {
  const auto any = [](const schema::Map<request::ValueOptions>& values) {
    return std::any_of(values.begin(), values.end(),
                       [](const auto& one) { return one.second.regex.has_value(); });
  };
  return std::any_of(routes.begin(), routes.end(), [&](const auto& route) {
    const auto& match = route.match;
    return !match.path_regex.empty() || any(match.headers) || any(match.cookies) ||
           any(match.query);
  });
}

}  // namespace

std::shared_ptr<const Config> Config::make(std::uint64_t number, const Options& options,
                                           const std::vector<ListenerOptions>& listeners,
                                           const schema::Map<request::UpstreamRules>& rules,
                                           std::uint32_t workers) {
  auto config = std::make_shared<Config>();
  config->number = number;
  config->clients = options.clients;
  config->pool = options.pool;
  config->overload = options.overload;
  config->log = options.log;
  if (const auto format = http::AccessFormat::compile(options.log.format)) {
    config->log_answer_heads = !format->answer_fields().empty();
  }
  for (const auto& listener : listeners) {
    ListenerConfig made{
        listener.address, listener.address.to_text(), listener.max_connections, {}, {}, {}};
    const auto routers = has_patterns(listener.routes) ? std::max(workers, 1U) : 1U;
    for (std::uint32_t i = 0; i < routers; ++i) {
      made.routers.emplace_back(listener.routes, make_pattern);
    }
    for (const auto& text : listener.trusted) {
      if (auto network = request::Network::parse(text)) made.trusted.push_back(*network);
    }
    for (const auto& route : listener.routes) made.routes.push_back(route_of(*config, route));
    config->listeners.push_back(std::move(made));
  }
  for (const auto& name : config->upstreams) {
    const auto* const found = rules.find(name);
    config->rules.push_back(found != nullptr ? *found : request::UpstreamRules{});
  }
  return config;
}

}  // namespace steelyard::proxy
