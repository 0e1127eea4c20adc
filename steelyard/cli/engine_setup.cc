#include "steelyard/cli/engine_setup.h"

namespace steelyard::cli {
namespace {

base::Address with_port(const base::Address& address, std::uint16_t port) {
  return port == 0 ? address : address.with_port(port);
}

}  // namespace

http::Http1Limits limits_of(const config::Document& document) {
  http::Http1Limits limits;
  limits.max_head = static_cast<std::size_t>(document.proxy.clients.max_head.count);
  limits.max_body = document.proxy.clients.max_body.count;
  return limits;
}

std::vector<apply::Drivers::Target> driver_targets(const config::Document& document) {
  std::vector<apply::Drivers::Target> out;
  for (const auto& [name, upstream] : document.upstreams) {
    if (upstream.apply.nginx) out.push_back({name, upstream.apply});
  }
  return out;
}

std::vector<probe::Target> probe_targets(const config::Document& document,
                                         const control::Brain& brain) {
  std::vector<probe::Target> out;
  for (const auto& [name, upstream] : document.upstreams) {
    for (const auto& node : config::spec_of(name, upstream).nodes) {
      const auto ref = brain.find(name, node.name);
      if (const auto& score = upstream.sense.score) {
        out.push_back({.node = ref,
                       .kind = probe::Kind::kScore,
                       .address = with_port(node.address, score->port),
                       .path = score->path,
                       .interval = score->interval,
                       .timeout = score->timeout});
      }
      if (const auto& active = upstream.health.active) {
        out.push_back({.node = ref,
                       .kind = active->http ? probe::Kind::kHttpCheck : probe::Kind::kTcpCheck,
                       .address = with_port(node.address, active->port),
                       .path = active->http ? active->http->path : std::string(),
                       .host = active->http ? active->http->host : std::string(),
                       .interval = active->interval,
                       .timeout = active->waits()});
      }
    }
  }
  return out;
}

}  // namespace steelyard::cli
