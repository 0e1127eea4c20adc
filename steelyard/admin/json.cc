#include "steelyard/admin/json.h"

#include <nlohmann/json.hpp>

namespace steelyard::admin {
namespace {

using Json = nlohmann::ordered_json;
using control::NodeView;
using control::UpstreamView;

std::string when(base::TimePoint at, const Now& now) {
  return io::rfc3339(io::wall_of(at, now.steady, now.wall));
}

std::string dump(const Json& json) {
  // Names come from a checked configuration; whatever else is not UTF-8 must not throw.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

double as_number(double value) { return value; }
double as_number(base::Duration value) { return base::seconds(value); }

template <typename T>
Json signal(const std::optional<model::Signal<T>>& value, base::TimePoint now) {
  if (!value) return nullptr;
  return Json{{"value", as_number(value->value)}, {"age_seconds", base::seconds(value->age(now))}};
}

Json observation(const model::Observation& seen, base::TimePoint now) {
  return Json{{"score", signal(seen.score, now)},
              {"utilisation", signal(seen.utilisation, now)},
              {"memory", signal(seen.memory, now)},
              {"rate", signal(seen.rate, now)},
              {"error_rate", signal(seen.error_rate, now)},
              {"latency_p50_seconds", signal(seen.latency_p50, now)},
              {"latency_p99_seconds", signal(seen.latency_p99, now)},
              {"in_flight", seen.in_flight},
              {"report_failed", seen.report_failed}};
}

Json override_of(const NodeView& node, const Now& now) {
  if (!node.override_) return nullptr;
  return Json{{"weight", node.override_->weight},
              {"reason", node.override_->reason},
              {"by", node.override_->by},
              {"since", when(node.override_->since, now)},
              {"until", when(node.override_->until, now)}};
}

Json node_of(const NodeView& node, const Now& now) {
  Json out{{"name", node.name},
           {"address", node.address.to_text()},
           {"state", model::to_text(node.eligibility)},
           {"reason", node.reason},
           {"weight", node.effective},
           {"base", node.base},
           {"control", node.control},
           {"wanted", node.wanted},
           {"ramp", node.ramp},
           {"share_wanted", node.share_wanted},
           {"share_seen", nullptr},
           {"rate", node.rate},
           {"in_flight", node.in_flight},
           {"limit", node.limit > 0 ? Json(node.limit) : Json(nullptr)},
           {"pooled", node.pooled},
           {"pool_advice", node.pool_advice ? Json(*node.pool_advice) : Json(nullptr)},
           {"ejections", node.ejections},
           {"override", override_of(node, now)}};
  if (node.share_seen) out["share_seen"] = *node.share_seen;
  if (node.last_decision.empty()) {
    out["last_decision"] = nullptr;
  } else {
    out["last_decision"] =
        Json{{"at", when(node.last_decision_at, now)}, {"text", node.last_decision}};
  }
  out["counts"] = Json{{"attempts", node.counts.attempts},
                       {"retries", node.counts.retries},
                       {"successes", node.counts.successes},
                       {"failures", node.counts.failures},
                       {"connect_failures", node.counts.connect_failures},
                       {"timeouts", node.counts.timeouts}};
  out["seen"] = observation(node.seen, now.steady);
  return out;
}

Json upstream_of(const UpstreamView& view, const Now& now) {
  Json nodes = Json::array();
  for (const auto& node : view.nodes) nodes.push_back(node_of(node, now));
  return Json{{"name", view.name},
              {"picker", view.picker},
              {"controller", view.controller},
              {"panic", view.panic},
              {"nodes", std::move(nodes)}};
}

Json decision_of(const model::Decision& decision, const Now& now) {
  Json stages = Json::array();
  for (const auto& stage : decision.stages) {
    stages.push_back(Json{
        {"stage", stage.stage}, {"value", stage.value}, {"bit", stage.bit}, {"why", stage.why}});
  }
  return Json{{"at", when(decision.at, now)},
              {"table", decision.table},
              {"upstream", decision.node.upstream},
              {"node", decision.node.name.empty() ? Json(nullptr) : Json(decision.node.name)},
              {"change", model::to_text(decision.change)},
              {"reason", decision.reason},
              {"base", decision.base},
              {"wanted", decision.wanted},
              {"from", decision.from},
              {"to", decision.to},
              {"share", decision.share},
              {"state", model::to_text(decision.eligibility)},
              {"controller", decision.controller},
              {"stages", std::move(stages)},
              {"seen", observation(decision.seen, decision.at)}};
}

}  // namespace

std::string upstreams_json(std::span<const UpstreamView> views, const UpstreamsBody& body,
                           const Now& now) {
  Json list = Json::array();
  for (const auto& view : views) list.push_back(upstream_of(view, now));
  return dump(Json{{"at", io::rfc3339(now.wall)},
                   {"table", body.table},
                   {"config", body.config},
                   {"upstreams", std::move(list)}});
}

std::string upstream_json(const UpstreamView& view, const Now& now) {
  return dump(upstream_of(view, now));
}

std::string decisions_json(std::span<const model::Decision* const> decisions, const Now& now) {
  Json list = Json::array();
  for (const auto* decision : decisions) list.push_back(decision_of(*decision, now));
  return dump(Json{{"at", io::rfc3339(now.wall)}, {"decisions", std::move(list)}});
}

std::string drivers_json(std::span<const DriverView> drivers, const Now& now) {
  Json list = Json::array();
  for (const auto& driver : drivers) {
    Json nodes = Json::array();
    for (const auto& node : driver.nodes) {
      nodes.push_back(Json{{"name", node.node},
                           {"intended", node.intended},
                           {"verified", node.verified ? Json(*node.verified) : Json(nullptr)}});
    }
    list.push_back(
        Json{{"upstream", driver.upstream},
             {"kind", driver.kind},
             {"target", driver.target},
             {"state", driver.state},
             {"reason", driver.reason},
             {"wanted_table", driver.wanted_table},
             {"applied_table", driver.applied_table},
             {"drift", driver.drift},
             {"applies", driver.applies},
             {"failures", driver.failures},
             {"rollbacks", driver.rollbacks},
             {"reloads", driver.reloads},
             {"edits", driver.edits},
             {"old_workers", driver.old_workers ? Json(*driver.old_workers) : Json(nullptr)},
             {"last_error", driver.last_error},
             {"last_success",
              driver.last_success ? Json(when(*driver.last_success, now)) : Json(nullptr)},
             {"nodes", std::move(nodes)}});
  }
  return dump(Json{{"at", io::rfc3339(now.wall)}, {"drivers", std::move(list)}});
}

std::string adjusted_json(std::string_view upstream, const NodeView& node,
                          std::span<const std::uint32_t> silent, const Now& now) {
  return dump(Json{{"upstream", upstream},
                   {"node", node_of(node, now)},
                   {"silent_workers", std::vector<std::uint32_t>(silent.begin(), silent.end())}});
}

std::string error_json(int status, std::string_view text) {
  return dump(Json{{"error", Json{{"status", status}, {"text", text}}}});
}

}  // namespace steelyard::admin
