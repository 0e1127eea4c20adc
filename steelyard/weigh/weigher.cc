#include "steelyard/weigh/weigher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "steelyard/weigh/choose.h"
#include "steelyard/weigh/stabilise.h"
#include "steelyard/weigh/words.h"

namespace steelyard::weigh {

namespace {

constexpr double kAverage = 0.3;       // of intervals and ages: as the signals themselves
constexpr double kSilenceAfter = 1.5;  // intervals; room for jitter and a time-out

const model::Observation kNothing{};

std::uint64_t key_of(model::NodeRef ref) noexcept {
  return static_cast<std::uint64_t>(ref.slot) << 32 | ref.generation;
}

// Another number whenever a report came, or one of its signals appeared, changed or expired.
// Nothing seen is 0.
std::uint64_t fingerprint(const model::Observation& seen) noexcept {
  std::uint64_t print = seen.reports;
  const auto mix = [&](std::uint64_t x) { print = print * 1'000'003 + x; };
  mix(seen.score ? seen.score->samples + 1 : 0);
  mix(seen.utilisation ? seen.utilisation->samples + 1 : 0);
  mix(seen.report_failed ? 1 : 0);
  return print;
}

base::TimePoint newest_report(const model::Observation& seen) noexcept {
  base::TimePoint at = seen.reported_at;
  if (seen.score) at = std::max(at, seen.score->at);
  if (seen.utilisation) at = std::max(at, seen.utilisation->at);
  return at;
}

void average(double& mean, double x) noexcept {
  mean = mean == 0 ? x : kAverage * x + (1 - kAverage) * mean;
}

std::string why_not_known(Standing standing) {
  switch (standing) {
    case Standing::kMean:
      return ": the mean of its siblings";
    case Standing::kBase:
      return ": too few nodes are known, the configured weight";
    default:
      return "";
  }
}

// The reasons of the stages that bit, after the controller's.
std::string limits_that_bit(const std::vector<model::StageValue>& stages) {
  std::string text;
  for (const model::StageValue& stage : stages) {
    if (!stage.bit || stage.stage == "controller") continue;
    text += text.empty() ? "" : "; ";
    text += stage.why;
  }
  return text;
}

}  // namespace

Weigher::Weigher(const Options& options, bool reloads)
    : options_(options), limits_(Limits::of(options, reloads)) {
  choose_law({});
}

void Weigher::choose_law(std::span<const NodeInput> nodes) {
  Choice choice{options_.controller.name, "configured"};
  if (choice.controller == kAdaptive) {
    Reported reported;
    for (const NodeInput& node : nodes) {
      if (!node.in_service || node.base <= 0) continue;
      ++reported.nodes;
      if (node.seen == nullptr) continue;
      if (node.seen->score) ++reported.score;
      if (!node.seen->utilisation) continue;
      ++reported.utilisation;
      if (node.seen->utilisation->value > 0 && node.seen->rate && node.seen->rate->value > 0)
        ++reported.capacity;
    }
    choice = choose(reported, running_);
  }
  const Kind* kind = find(choice.controller);
  if (kind == nullptr) {
    kind = find("static");
    choice.why = "there is no controller \"" + options_.controller.name + "\"";
  }
  why_ = std::move(choice.why);
  if (law_ != nullptr && running_ == kind->name) return;
  running_ = kind->name;
  law_ = kind->make(kind->name == options_.controller.name ? options_.controller
                                                           : schema::Choice{running_, nullptr});
}

void Weigher::forget(model::NodeRef node) {
  states_.erase(key_of(node));
  law_->forget(node);
}

void Weigher::restore(model::NodeRef node, double control) {
  if (!std::isfinite(control) || control <= 0) return;
  State& state = states_[key_of(node)];
  state.control = control;
  state.placed = true;
}

void Weigher::step(std::span<const NodeInput> nodes, base::TimePoint now,
                   std::vector<NodeOutcome>& out) {
  choose_law(nodes);
  gather(nodes, now);
  place_new();
  out.assign(nodes.size(), NodeOutcome{});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto known = states_.find(key_of(nodes[i].ref));
    if (known != states_.end()) out[i].control = known->second.control;
    out[i].wanted = nodes[i].base * out[i].control;
  }
  for (Work& work : work_) {
    work.before = work.state->control;
    out[work.at].control = work.before;
    out[work.at].wanted = nodes[work.at].base * work.before;
  }

  froze_ = false;
  if (!law_->law().signals) {
    frozen_ = false;
    if (options_.controller.name == running_) {
      for (const Work& work : work_) {
        work.state->control = 1;
        out[work.at].wanted = nodes[work.at].base;
      }
    }
  } else if (find_beats(now)) {
    ask(now);
    const Trust trust(views_, limits_.trust);
    for (std::size_t i = 0; i < work_.size(); ++i) move(i, trust, now, out[work_[i].at]);
  }
  bound_all(out);
  finish(now, out);
}

void Weigher::gather(std::span<const NodeInput> nodes, base::TimePoint now) {
  work_.clear();
  views_.clear();
  floors_.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeInput& node = nodes[i];
    const bool in_service = node.in_service && node.base > 0 && std::isfinite(node.base);
    const auto known = states_.find(key_of(node.ref));
    if (!in_service) {
      if (known == states_.end() || !known->second.in_service) continue;
      known->second.in_service = false;
      law_->forget(node.ref);  // it comes back as one that has to report for a while first
      continue;
    }
    State& state = known != states_.end() ? known->second : states_[key_of(node.ref)];
    if (!state.in_service) state.beat_at = now;
    state.in_service = true;
    work_.push_back({.at = i, .state = &state});
    views_.push_back({node.ref, node.base, node.seen != nullptr ? node.seen : &kNothing, false});
    floors_.push_back(limits_.floor_of(node.base) / node.base);
  }
}

// A node first seen has no weight of its own yet: it starts at the mean of its siblings.
void Weigher::place_new() {
  double base = 0;
  double weight = 0;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    if (!work_[i].state->placed) continue;
    base += views_[i].base;
    weight += views_[i].base * work_[i].state->control;
  }
  const double mean = base > 0 ? weight / base : 1;
  for (const Work& work : work_) {
    if (work.state->placed) continue;
    work.state->control = mean;
    work.state->placed = true;
  }
}

// Marks the nodes with a new sample, and those whose silence has lasted another interval. False:
// nothing to do.
bool Weigher::find_beats(base::TimePoint now) {
  double usual = 0;
  bool any = false;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    State& state = *work_[i].state;
    const std::uint64_t print = fingerprint(*views_[i].seen);
    usual = std::max(usual, state.interval);
    if (print == state.seen) continue;
    state.seen = print;
    any = work_[i].fresh = true;
    const base::TimePoint at = newest_report(*views_[i].seen);
    if (at > state.sampled_at) {
      if (state.sampled_at != base::TimePoint{})
        average(state.interval, base::seconds(at - state.sampled_at));
      average(state.age, std::max(0.0, base::seconds(now - at)));
      state.sampled_at = at;
    }
    state.beat_at = now;
  }
  for (Work& work : work_) {
    const double interval = work.state->interval > 0 ? work.state->interval : usual;
    if (work.fresh || interval == 0) continue;
    if (base::seconds(now - work.state->beat_at) < kSilenceAfter * interval) continue;
    work.state->beat_at = now;
    any = work.silent = true;
  }
  return any;
}

void Weigher::ask(base::TimePoint now) {
  for (std::size_t i = 0; i < work_.size(); ++i)
    views_[i].explain = work_[i].fresh || work_[i].silent;
  wishes_.assign(views_.size(), Wish{});
  wants_.assign(views_.size(), Want{});
  law_->wish(views_, now, wishes_);
  settle(law_->law(), views_, wishes_, floors_, wants_);

  const bool unknown = std::all_of(wants_.begin(), wants_.end(), [](const Want& want) {
    return want.standing == Standing::kFrozen;
  });
  ever_known_ = ever_known_ || !unknown;
  froze_ = unknown && ever_known_ && !frozen_;
  frozen_ = unknown && ever_known_;
}

double Weigher::lag_of(const State& state, const Law& law, double* alpha) const noexcept {
  const double window = law.smoothing == Smoothing::kMean ? (limits_.window - 1) / 2.0 : 0;
  *alpha = law.smoothing == Smoothing::kEwma ? limits_.alpha : 1;
  if (state.interval <= 0) return window;
  // The loop's step is the time between two changes: a sample's interval, or the cooldown where
  // that is longer.
  const double period = std::max(state.interval, base::seconds(limits_.cooldown));
  *alpha = 1 - std::pow(1 - *alpha, period / state.interval);
  return (state.age + window * state.interval) / period;
}

void Weigher::move(std::size_t at, const Trust& trust, base::TimePoint now, NodeOutcome& out) {
  const Work& work = work_[at];
  const View& view = views_[at];
  const Want& want = wants_[at];
  Wish& wish = wishes_[at];
  State& state = *work.state;
  const bool stays = want.standing == Standing::kHold || want.standing == Standing::kFrozen;
  if (!stays) out.wanted = view.base * want.control;
  // Silence moves only those it makes unknown; a tick moves nobody.
  if (!work.fresh && !(work.silent && want.standing == Standing::kMean)) return;
  if (want.standing == Standing::kFrozen) return;
  if (want.standing == Standing::kHold) {
    out.reason = wish.why + ": keeps its weight of " + decimal(view.base * state.control);
    return;
  }

  out.stepped = true;
  out.stages.reserve(7);
  out.stages.push_back(
      {"controller", out.wanted, !same(want.control, 1), wish.why + why_not_known(want.standing)});
  Move request{.base = view.base, .applied = state.control, .wanted = want.control};
  request.lag = lag_of(state, law_->law(), &request.alpha);
  if (state.changed_at) request.since_change = now - *state.changed_at;
  request.objection = trust.objection(*view.seen);
  const Moved moved = stabilise(request, limits_, out.stages);
  state.control = moved.control;
  out.suppressed = moved.held;
}

void Weigher::bound_all(std::vector<NodeOutcome>& out) {
  bounds_.clear();
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const double base = views_[i].base;
    bounds_.push_back(
        {.base = base, .floor = floors_[i] * base, .weight = base * work_[i].state->control});
  }
  bound(bounds_, limits_.cap);
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const Bounded& bounded = bounds_[i];
    NodeOutcome& node = out[work_[i].at];
    if (node.stepped || bounded.floored) {
      const double value = bounded.floored ? bounded.floor : bounded.base * work_[i].state->control;
      node.stages.push_back(
          {"floor", value, bounded.floored,
           bounded.floored ? "raised to the floor of " + decimal(bounded.floor) : std::string()});
    }
    if (node.stepped || bounded.capped || bounded.raised) {
      std::string why;
      if (bounded.capped) why = "capped at " + percent(bounded.most) + " of the traffic";
      if (bounded.raised) why = "raised, since others are at their caps";
      const bool bit = bounded.capped || bounded.raised;
      node.stages.push_back({"cap", bounded.weight, bit, std::move(why)});
    }
    const double control = bounded.weight / bounded.base;
    if (!same(control, work_[i].state->control)) work_[i].state->control = control;
  }
}

void Weigher::finish(base::TimePoint now, std::vector<NodeOutcome>& out) {
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const Work& work = work_[i];
    NodeOutcome& node = out[work.at];
    const double base = views_[i].base;
    node.control = work.state->control;
    node.changed = !same(node.control, work.before);
    if (node.changed) work.state->changed_at = now;
    if (froze_) node.reason = "no signal is known from any node: the last good weights are frozen";
    if (!node.stepped && !node.changed) continue;

    const std::string bits = limits_that_bit(node.stages);
    const std::string why = node.stepped ? node.stages.front().why : std::string(running_);
    if (node.changed) {
      node.reason =
          why + ": weight " + decimal(base * work.before) + " → " + decimal(base * node.control);
    } else if (!same(node.wanted, base * node.control)) {
      node.suppressed = true;
      node.reason =
          why + ": wants " + decimal(node.wanted) + ", stays at " + decimal(base * node.control);
    } else {
      node.reason = why + ": stays at " + decimal(base * node.control);
    }
    if (!bits.empty()) node.reason += " (" + bits + ")";
  }
}

}  // namespace steelyard::weigh
