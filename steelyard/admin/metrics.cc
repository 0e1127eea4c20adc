#include "steelyard/admin/metrics.h"

#include <array>
#include <functional>

namespace steelyard::admin {
namespace {

using control::NodeView;
using control::UpstreamView;
using Views = std::span<const UpstreamView>;

template <typename Visit>
void each_node(Views views, Visit visit) {
  for (const auto& upstream : views) {
    for (const auto& node : upstream.nodes) visit(upstream, node);
  }
}

void weights(Exposition& out, Views views) {
  out.family("node_weight", "gauge",
             "Weight of a node in base units: configured, wanted by the controller, applied.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    out.sample({{"upstream", u.name}, {"node", n.name}, {"kind", "base"}}, n.base);
    out.sample({{"upstream", u.name}, {"node", n.name}, {"kind", "wanted"}}, n.wanted);
    out.sample({{"upstream", u.name}, {"node", n.name}, {"kind", "applied"}}, n.effective);
  });
  out.family("node_share_ratio", "gauge",
             "Share of the upstream's traffic: intended by the table, observed in the traffic.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    out.sample({{"upstream", u.name}, {"node", n.name}, {"kind", "intended"}}, n.share_wanted);
    if (n.share_seen) {
      out.sample({{"upstream", u.name}, {"node", n.name}, {"kind", "observed"}}, *n.share_seen);
    }
  });
}

void states(Exposition& out, Views views) {
  using model::Eligibility;
  out.family("node_state", "gauge", "1 for the state a node is in, else 0.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    for (const auto state :
         {Eligibility::kUsable, Eligibility::kTrial, Eligibility::kOut, Eligibility::kDraining}) {
      out.sample({{"upstream", u.name}, {"node", n.name}, {"state", model::to_text(state)}},
                 std::uint64_t{n.eligibility == state});
    }
  });
  out.family("node_ejections", "gauge", "How often a node was ejected lately; lengthens the next.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    out.sample({{"upstream", u.name}, {"node", n.name}}, std::uint64_t{n.ejections});
  });
  out.family("upstream_panic", "gauge",
             "1 while too many nodes look bad and health is ignored, else 0.");
  for (const auto& u : views) out.sample({{"upstream", u.name}}, std::uint64_t{u.panic});
}

void signals(Exposition& out, Views views, base::TimePoint now) {
  const auto value = [&](std::string_view name, std::string_view help, auto member) {
    out.family(name, "gauge", help);
    each_node(views, [&](const UpstreamView& u, const NodeView& n) {
      if (const auto& signal = n.seen.*member) {
        out.sample({{"upstream", u.name}, {"node", n.name}}, signal->value);
      }
    });
  };
  using model::Observation;
  value("node_score", "Health score from 0 to 100, mean of the last ones.", &Observation::score);
  value("node_utilisation_ratio", "Utilisation a node reports, 0 to 1, smoothed.",
        &Observation::utilisation);
  value("node_error_ratio", "Share of a node's attempts that fail, smoothed.",
        &Observation::error_rate);
  out.family("signal_age_seconds", "gauge", "Age of the newest sample of a signal.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    const auto age = [&](std::string_view source, const auto& signal) {
      if (signal) {
        out.sample({{"upstream", u.name}, {"node", n.name}, {"source", source}},
                   base::seconds(signal->age(now)));
      }
    };
    age("score", n.seen.score);
    age("utilisation", n.seen.utilisation);
    age("rate", n.seen.rate);
    age("error_rate", n.seen.error_rate);
  });
}

void traffic(Exposition& out, Views views, const control::Counts& gone) {
  using control::Counts;
  static constexpr std::string_view kGone = "(gone)";
  const auto each_counts =
      [&](const std::function<void(const std::string&, std::string_view, const Counts&)>& visit) {
        for (const auto& u : views) {
          for (const auto& n : u.nodes) visit(u.name, n.name, n.counts);
          if (u.gone.attempts != 0) visit(u.name, kGone, u.gone);
        }
        if (gone.attempts != 0) visit(std::string(kGone), kGone, gone);
      };
  out.family(
      "upstream_attempts_total", "counter",
      "Attempts that ended, by result; nodes that left count under \"(gone)\", "
      "all of upstreams that left under upstream \"(gone)\". Those given up (the client left, "
      "a hedge lost, a reused connection was dead) have no result.");
  each_counts([&](const std::string& u, std::string_view n, const Counts& c) {
    out.sample({{"upstream", u}, {"node", n}, {"result", "success"}}, c.successes);
    out.sample({{"upstream", u}, {"node", n}, {"result", "failure"}}, c.failures);
    out.sample({{"upstream", u}, {"node", n}, {"result", "connect_failure"}}, c.connect_failures);
  });
  out.family("upstream_attempts_begun_total", "counter", "Attempts begun.");
  each_counts([&](const std::string& u, std::string_view n, const Counts& c) {
    out.sample({{"upstream", u}, {"node", n}}, c.attempts);
  });
  out.family("upstream_retries_total", "counter",
             "Of which after the first of an exchange: retries and hedges.");
  each_counts([&](const std::string& u, std::string_view n, const Counts& c) {
    out.sample({{"upstream", u}, {"node", n}}, c.retries);
  });
  out.family("upstream_timeouts_total", "counter", "Attempts that timed out.");
  each_counts([&](const std::string& u, std::string_view n, const Counts& c) {
    out.sample({{"upstream", u}, {"node", n}}, c.timeouts);
  });
  out.family("upstream_head_duration_seconds", "histogram",
             "Time from the request sent to the head of the answer, successes only.");
  each_counts([&](const std::string& u, std::string_view n, const Counts& c) {
    out.histogram({{"upstream", u}, {"node", n}}, c.head_latency);
  });
  out.family("upstream_inflight", "gauge", "Attempts in progress.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    out.sample({{"upstream", u.name}, {"node", n.name}}, std::uint64_t{n.in_flight});
  });
  out.family("upstream_inflight_limit", "gauge",
             "Attempts that a node takes at once by `limits`; with gradient it moves. None without "
             "a limit.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    if (n.limit > 0) out.sample({{"upstream", u.name}, {"node", n.name}}, n.limit);
  });
  out.family("upstream_base_latency_seconds", "gauge",
             "Latency over the long run that a gradient limit goes by, mean of the workers.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    if (!n.base_latency) return;
    out.sample({{"upstream", u.name}, {"node", n.name}}, base::seconds(*n.base_latency));
  });
  out.family("upstream_pooled_connections", "gauge", "Idle connections kept to a node.");
  each_node(views, [&](const UpstreamView& u, const NodeView& n) {
    out.sample({{"upstream", u.name}, {"node", n.name}}, n.pooled);
  });
}

}  // namespace

void write_upstream_metrics(Exposition& out, Views views, const control::Counts& gone,
                            base::TimePoint now) {
  weights(out, views);
  states(out, views);
  signals(out, views, now);
  traffic(out, views, gone);
}

}  // namespace steelyard::admin
