#include "steelyard/apply/nginx/driver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "steelyard/apply/nginx/plan.h"

namespace steelyard::apply::nginx {
namespace {

void add_verified(Status& status, const Content& serves) {
  if (!serves) return;
  const auto plan = read(*serves);
  if (!plan) return;
  for (std::size_t i = 0; i < plan->servers.size(); ++i) {
    const std::string& name = plan->servers[i].name;
    auto place = std::find_if(status.nodes.begin(), status.nodes.end(),
                              [&](const NodeShare& n) { return n.node == name; });
    if (place == status.nodes.end()) {
      place = status.nodes.insert(place, NodeShare{.node = name, .intended = 0, .verified = {}});
    }
    place->verified = plan->share(i);
  }
}

}  // namespace

Status lane_status(const Lane& lane, const Target& target) {
  Status out = target.status;
  const auto found = lane.upstreams().find(target.name);
  out.upstream = found == lane.upstreams().end() ? std::string() : found->second;
  out.kind = "nginx";
  out.target = target.name;
  out.state = lane.machine().state(target);
  out.reason = target.reason;
  out.reloads = lane.machine().reloads();
  if (lane.machine().workers().master != 0) out.old_workers = lane.machine().workers().old;
  if (target.serves) add_verified(out, *target.serves);
  return out;
}

NginxDriver::NginxDriver(Lane& lane, Events& events, std::string upstream, NginxOptions options)
    : lane_(lane), events_(events), upstream_(std::move(upstream)), options_(std::move(options)) {
  lane_.add(upstream_, options_);
}

void NginxDriver::want(const model::TableUpstream& upstream, std::uint64_t table) {
  table_ = table;
  wanted_ = upstream;
  auto made = plan(upstream, options_);
  if (!made) return kept(made.error().describe());
  auto text = write(*made);
  if (!text) return kept(text.error().describe());
  const bool down = made->all_down();
  lane_.want(options_.file, std::move(*text), table, down);
  kept(down ? "every node is out, drained or of weight 0: the last good file stays" : "");
}

void NginxDriver::kept(std::string why) {
  if (kept_ == why) return;
  kept_ = std::move(why);
  events_.on_event({.upstream = upstream_,
                    .what = kept_.empty() ? "released" : "quarantined",
                    .text = kept_.empty() ? "what is wanted can be written again" : kept_});
}

Status NginxDriver::status() const {
  Status out;
  const auto& targets = lane_.machine().targets();
  const auto found = targets.find(options_.file);
  if (found != targets.end()) out = lane_status(lane_, found->second);
  out.upstream = upstream_;
  out.kind = "nginx";
  out.target = options_.file;
  out.wanted_table = table_;
  if (wanted_) {
    for (std::size_t i = 0; i < wanted_->nodes.size(); ++i) {
      const std::string& name = wanted_->nodes[i].name;
      auto place = std::find_if(out.nodes.begin(), out.nodes.end(),
                                [&](const NodeShare& n) { return n.node == name; });
      if (place == out.nodes.end()) {
        place = out.nodes.insert(place, NodeShare{.node = name, .intended = 0, .verified = {}});
      }
      place->intended = wanted_->share(i);
    }
  }
  for (const NodeShare& n : out.nodes) {
    out.drift += std::abs(n.intended - n.verified.value_or(0)) / 2;
  }
  if (!kept_.empty() && !(found != targets.end() && found->second.fallback && !found->second.good &&
                          out.state == State::kApplied)) {
    if (out.state == State::kApplied || out.state == State::kIdle) out.state = State::kFailed;
    out.reason = kept_;
  }
  return out;
}

}  // namespace steelyard::apply::nginx
