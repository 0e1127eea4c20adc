#include "steelyard/admin/api.h"

#include <charconv>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <utility>

#include "steelyard/admin/adjust.h"
#include "steelyard/admin/metrics.h"

namespace steelyard::admin {
namespace {

constexpr std::string_view kUpstreams = "/api/v1/upstreams";
constexpr std::size_t kMostDecisions = 1000;

wire::Response failure(int status, std::string_view text) {
  return wire::Response::json(static_cast<std::uint16_t>(status), error_json(status, text));
}

wire::Response not_allowed(std::string_view allow) {
  auto response = failure(405, fmt::format("use {}", allow));
  response.headers.push_back({"Allow", std::string(allow)});
  return response;
}

int status_of(base::Code code) {
  switch (code) {
    case base::Code::kInvalid:
      return 400;
    case base::Code::kNotFound:
      return 404;
    case base::Code::kConflict:
      return 409;
    default:
      return 500;
  }
}

std::string_view field(const wire::Request& request, std::string_view name) {
  const auto* value = request.header(name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

bool is_json(std::string_view type) {
  const auto end = type.find_first_of("; \t");
  return type.substr(0, end) == "application/json";
}

// "/api/v1/upstreams/U/nodes/N/override" → (U, N).
std::optional<std::pair<std::string, std::string>> override_path(std::string_view path) {
  constexpr std::string_view kNodes = "/nodes/";
  constexpr std::string_view kOverride = "/override";
  if (!path.starts_with(kUpstreams) || !path.ends_with(kOverride)) return std::nullopt;
  path.remove_prefix(kUpstreams.size());
  path.remove_suffix(kOverride.size());
  const auto nodes = path.find(kNodes);
  if (!path.starts_with('/') || nodes == std::string_view::npos || nodes < 2) return std::nullopt;
  return std::pair{std::string(path.substr(1, nodes - 1)),
                   std::string(path.substr(nodes + kNodes.size()))};
}

// "/api/v1/drivers/U/resume" → U.
std::optional<std::string_view> resume_path(std::string_view path) {
  constexpr std::string_view kBegin = "/api/v1/drivers/";
  constexpr std::string_view kEnd = "/resume";
  if (path.size() <= kBegin.size() + kEnd.size() || !path.starts_with(kBegin) ||
      !path.ends_with(kEnd)) {
    return std::nullopt;
  }
  return path.substr(kBegin.size(), path.size() - kBegin.size() - kEnd.size());
}

constexpr std::string_view kIndex =
    "steelyard admin API\n"
    "  GET  /api/v1/upstreams            weights, shares, states, reasons\n"
    "  GET  /api/v1/decisions?node=NAME  what moved and why, newest first\n"
    "  GET  /api/v1/drivers              what was applied to other balancers\n"
    "  GET  /api/v1/process              supervisor, engines, crashes, upgrades, configuration\n"
    "  GET  /metrics                     for Prometheus\n"
    "  GET  /healthz /readyz\n"
    "  POST /api/v1/drivers/NAME/resume  let a stopped driver try again, with X-API-Key\n"
    "  DELETE /api/v1/upstreams/NAME/nodes/NODE/override  ends an override, with X-API-Key\n"
    "  POST /api/adjust-weight           sets one: base units, 0 drains; for an hour unless it "
    "says\n"
    "       curl -H 'X-API-Key: KEY' -H 'Content-Type: application/json' \\\n"
    "            -d '{\"node\": \"node-a\", \"weight\": 4, \"reason\": \"canary\", \"expires\": "
    "\"30m\"}' \\\n"
    "            http://";  // the caller's own name for us, and the path
constexpr std::string_view kIndexEnd = "/api/adjust-weight\n";

wire::Response index(std::string_view host) {
  return wire::Response::text(200, fmt::format("{}{}{}", kIndex, host, kIndexEnd));
}

}  // namespace

Api::Api(io::Reactor& reactor, control::Brain& brain, Host& host, Access access)
    : reactor_(reactor), brain_(brain), host_(host), access_(std::move(access)) {}

Now Api::now() const { return {reactor_.now(), io::wall_now()}; }

Caller Api::caller_of(const wire::Request& request) const {
  return {request.host, field(request, "Origin"), field(request, "Sec-Fetch-Site"), request.peer};
}

void Api::handle(const wire::Request& request, wire::Reply reply) {
  const auto path = request.path();
  const bool reading = request.method == "GET" || request.method == "HEAD";
  if (path == "/api/adjust-weight") {
    if (request.method != "POST") return reply.send(not_allowed("POST"));
    return adjust(request, std::move(reply));
  }
  if (const auto target = override_path(path)) {
    if (request.method != "DELETE") return reply.send(not_allowed("DELETE"));
    return clear(request, std::move(reply), target->first, target->second);
  }
  if (const auto upstream = resume_path(path)) {
    if (request.method != "POST") return reply.send(not_allowed("POST"));
    return resume(request, std::move(reply), *upstream);
  }
  if (const auto refusal = access_.read(caller_of(request))) {
    return reply.send(failure(refusal->status, refusal->text));
  }
  auto response = read(request);
  if (!reading && response.status != 404) response = not_allowed("GET, HEAD");
  reply.send(std::move(response));
}

wire::Response Api::read(const wire::Request& request) {
  const auto path = request.path();
  if (path == "/") return index(request.host);
  if (path == kUpstreams) {
    return wire::Response::json(
        200, upstreams_json(brain_.views(reactor_.now()), host_.numbers(), now()));
  }
  if (path.starts_with("/api/v1/upstreams/")) {
    return one_upstream(path.substr(kUpstreams.size() + 1));
  }
  if (path == "/api/v1/decisions") return decisions(request);
  if (path == "/api/v1/drivers") {
    return wire::Response::json(200, drivers_json(host_.drivers(), now()));
  }
  if (path == "/api/v1/process") {
    return wire::Response::json(200, process_json(host_.process(), now()));
  }
  if (path == "/metrics") return metrics();
  if (path == "/healthz") return wire::Response::text(200, "ok\n");
  if (path == "/readyz") {
    auto ready = host_.ready();
    return wire::Response::text(ready.ok ? 200 : 503, std::move(ready.text));
  }
  return failure(404, fmt::format("nothing at \"{}\"; GET / lists what there is", path));
}

wire::Response Api::one_upstream(std::string_view name) {
  for (const auto& view : brain_.views(reactor_.now())) {
    if (view.name == name) return wire::Response::json(200, upstream_json(view, now()));
  }
  return failure(404, fmt::format("there is no upstream \"{}\"", name));
}

wire::Response Api::decisions(const wire::Request& request) {
  const auto asked = [&](std::string_view name) {
    std::string value;
    return wire::query_value(request.query(), name, value) ? value : std::string();
  };
  const std::string upstream = asked("upstream");
  const std::string node = asked("node");
  const std::string limit_text = asked("limit");
  std::size_t limit = 100;
  if (!limit_text.empty()) {
    const auto* const end = limit_text.data() + limit_text.size();
    const auto [at, failed] = std::from_chars(limit_text.data(), end, limit);
    if (failed != std::errc{} || at != end || limit == 0 || limit > kMostDecisions) {
      return failure(400,
                     fmt::format("limit is \"{}\", must be 1 to {}", limit_text, kMostDecisions));
    }
  }
  const auto found = brain_.history().find({upstream, node, limit});
  return wire::Response::json(200, decisions_json(found, now()));
}

wire::Response Api::metrics() {
  Exposition out;
  write_upstream_metrics(out, brain_.views(reactor_.now()), brain_.gone(), reactor_.now());
  host_.write_metrics(out);
  return wire::Response::text(200, std::move(out).take(), std::string(Exposition::kContentType));
}

void Api::adjust(const wire::Request& request, wire::Reply reply) {
  std::string author;
  if (const auto no = access_.write(caller_of(request), field(request, "X-API-Key"), author)) {
    return reply.send(failure(no->status, no->text));
  }
  if (!is_json(field(request, "Content-Type"))) {
    return reply.send(failure(415, "send Content-Type: application/json"));
  }
  const auto wanted = parse_adjustment(request.body);
  if (!wanted) return reply.send(failure(400, wanted.error().text));
  const auto at = reactor_.now();
  auto id = brain_.set_override({.upstream = wanted->upstream,
                                 .node = wanted->node,
                                 .weight = wanted->weight,
                                 .reason = wanted->reason,
                                 .by = author,
                                 .until = at + wanted->expires},
                                at);
  if (!id) return reply.send(failure(status_of(id.error().code), id.error().text));
  answer_when_taken(std::move(*id), std::move(reply));
}

void Api::clear(const wire::Request& request, wire::Reply reply, std::string_view upstream,
                std::string_view node) {
  std::string author;
  if (const auto no = access_.write(caller_of(request), field(request, "X-API-Key"), author)) {
    return reply.send(failure(no->status, no->text));
  }
  auto id = brain_.clear_override(upstream, node, reactor_.now());
  if (!id) return reply.send(failure(status_of(id.error().code), id.error().text));
  answer_when_taken(std::move(*id), std::move(reply));
}

void Api::resume(const wire::Request& request, wire::Reply reply, std::string_view upstream) {
  std::string author;
  if (const auto no = access_.write(caller_of(request), field(request, "X-API-Key"), author)) {
    return reply.send(failure(no->status, no->text));
  }
  if (!host_.resume_driver(upstream)) {
    return reply.send(failure(404, fmt::format("upstream \"{}\" has no driver", upstream)));
  }
  reply.send(wire::Response::json(202, drivers_json(host_.drivers(), now())));
}

void Api::answer_when_taken(model::NodeId id, wire::Reply reply) {
  const auto kept = std::make_shared<wire::Reply>(std::move(reply));
  host_.publish_now([this, id = std::move(id), kept](const Host::Silent& silent) {
    for (const auto& view : brain_.views(reactor_.now())) {
      if (view.name != id.upstream) continue;
      for (const auto& node : view.nodes) {
        if (node.name != id.name) continue;
        kept->send(wire::Response::json(silent.empty() ? 200 : 202,
                                        adjusted_json(id.upstream, node, silent, now())));
        return;
      }
    }
    kept->send(failure(404, fmt::format("node \"{}\" left meanwhile", id.name)));
  });
}

}  // namespace steelyard::admin
