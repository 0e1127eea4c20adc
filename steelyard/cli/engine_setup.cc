#include "steelyard/cli/engine_setup.h"

#include <algorithm>

namespace steelyard::cli {
namespace {

base::Address with_port(const base::Address& address, std::uint16_t port) {
  return port == 0 ? address : address.with_port(port);
}

}  // namespace

std::uint32_t clients_for(unsigned long descriptors, std::uint32_t workers) {
  // Admin connections, probes, drivers, log; listeners, reactors and pooled connections of a
  // worker.
  const unsigned long reserve = 64UL + 16UL * workers;
  const unsigned long room = descriptors > reserve ? descriptors - reserve : 2;
  return static_cast<std::uint32_t>(std::clamp<unsigned long>(room / 2, 1, 10'000'000));
}

std::uint32_t least_descriptors(const config::Document& document, std::uint32_t workers) {
  // stdin, stdout, stderr; signals; two of the loop and its reserve; two ends of the supervisor's
  // channel; memory: state and its lock, heartbeat, configuration.
  constexpr std::uint32_t kEngine = 13;
  constexpr std::uint32_t kOther = 2;   // a caller of the admin API, a check of a node
  constexpr std::uint32_t kWorker = 3;  // as the engine's loop
  constexpr std::uint32_t kClient = 2;  // with its node
  const auto sockets = workers * static_cast<std::uint32_t>(document.listeners.size()) + 1;
  return kEngine + kOther + workers * (kWorker + kClient) + 2 * sockets +  // kept, and in use
         (document.proxy.log.file.empty() ? 0 : 1);
}

http::Http1Limits limits_of(const config::Document& document) {
  http::Http1Limits limits;
  limits.max_head = static_cast<std::size_t>(document.proxy.clients.max_head.count);
  limits.connect = true;  // each route decides
  limits.max_fields = document.proxy.clients.max_fields;
  limits.max_line = static_cast<std::size_t>(document.proxy.clients.max_line.count);
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
