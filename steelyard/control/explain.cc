#include "steelyard/control/explain.h"

#include <array>
#include <cmath>
#include <string_view>

#include "steelyard/control/words.h"

namespace steelyard::control {
namespace {

using model::Change;

// A held-back wish is told again when it has moved by this much, or after this long.
constexpr double kToldAgain = 0.2;
constexpr base::Duration kTellAfter = std::chrono::seconds(60);

std::vector<model::StageValue> stages_of(const Node& node, const Verdict& verdict) {
  std::vector<model::StageValue> stages = node.stages;
  const Factors f = node.factors();
  if (stages.empty()) {  // the weigher has not worked on it yet: its weight is as it was
    for (const std::string_view name :
         {"controller", "trust", "threshold", "step", "cooldown", "floor", "cap"}) {
      stages.push_back({name, f.base * f.control, false, {}});
    }
  }
  const bool overridden = f.override_.has_value();
  stages.push_back({"override", full_weight(f), overridden,
                    overridden ? "override " + number(*f.override_) + " by " + node.override_->by
                               : std::string()});
  const bool ramps = f.ramp < 1;
  stages.push_back(
      {"ramp", effective_weight(f), ramps, ramps ? "ramp at " + percent(f.ramp) : std::string()});
  if (verdict.lift > 1) {
    stages.push_back({"panic", verdict.weight, true,
                      "raised ×" + number(verdict.lift) + " in panic: usable nodes keep " +
                          percent(kPanicUsableShare)});
  }
  return stages;
}

// Suppressed wishes would fill the history at every sample: tell one when it is new, has moved, or
// after a while.
bool worth_telling(Node& node, const weigh::NodeOutcome& outcome, base::TimePoint now) {
  std::string key;
  for (const auto& stage : outcome.stages) {
    if (stage.bit) key += std::string(stage.stage) + ' ';
  }
  const double before = node.suppressed_wanted;
  const bool same = key == node.suppressed &&
                    std::abs(outcome.wanted - before) <= kToldAgain * std::abs(before) &&
                    now - node.suppressed_at < kTellAfter;
  if (same) return false;
  node.suppressed = std::move(key);
  node.suppressed_wanted = outcome.wanted;
  node.suppressed_at = now;
  return true;
}

std::string weight_words(const Node& node, const Verdict& verdict) {
  const double from = node.published ? node.weight : 0;
  return "weight " + moved(number(from), number(verdict.weight)) + " (share " +
         moved(percent(node.share), percent(verdict.share)) + ")";
}

// What the weigher says, without the weights (the sentence has them): the controller's words, then
// every rule that bit.
std::string law_words(const weigh::NodeOutcome& outcome) {
  std::string words;
  for (const auto& stage : outcome.stages) {
    const bool law = &stage == &outcome.stages.front() && outcome.stepped;
    if ((!law && !stage.bit) || stage.why.empty()) continue;
    if (!words.empty()) words += "; ";
    if (stage.stage == "step") words += "step ";
    words += stage.why;
  }
  return words.empty() ? outcome.reason : words;
}

void append(std::string& text, std::string_view more) {
  if (more.empty()) return;
  if (!text.empty()) text += "; ";
  text += more;
}

}  // namespace

std::optional<model::Decision> explain(const Upstream& upstream, Node& node, const Verdict& verdict,
                                       const weigh::NodeOutcome& outcome, const TickWork& work) {
  const auto transitions = node.gate.take();
  const auto events = std::exchange(node.events, {});
  Change change = Change::kNone;
  std::string health;
  for (const auto& t : transitions) {
    append(health, t.reason);
    if (t.change != Change::kSuppressed || change == Change::kNone) change = t.change;
  }
  std::string rest;
  for (const auto& e : events) {
    append(rest, e.text);
    if (change == Change::kNone || change == Change::kSuppressed) change = e.change;
  }
  const bool weighed = outcome.changed && node.published && !node.override_;
  if (weighed) node.suppressed.clear();
  if (weighed && change == Change::kNone) change = Change::kWeight;
  const bool held =
      outcome.suppressed && !outcome.changed && worth_telling(node, outcome, work.now);
  if (held && change == Change::kNone) change = Change::kSuppressed;
  if (change == Change::kNone) return std::nullopt;

  if (verdict.weight != node.weight || !node.published) append(rest, weight_words(node, verdict));
  const std::string law = weighed || held ? law_words(outcome) : std::string();
  if (weighed && !law.empty()) rest += ": " + law;
  if (held) {
    append(rest, "weight stays " + number(full_weight(node.factors())) + ", " +
                     number(outcome.wanted) + " was wanted");
    if (!law.empty()) rest += ": " + law;
  }

  model::Decision d;
  d.table = work.table;
  d.at = work.now;
  d.node = {upstream.name(), node.spec.name};
  d.change = change;
  d.base = node.spec.weight;
  d.wanted = node.wanted;
  d.from = node.published ? node.weight : 0;
  d.to = verdict.weight;
  d.share = verdict.share;
  d.eligibility = verdict.eligibility;
  d.controller = upstream.weigher.controller();
  d.seen = node.observer.at(work.now);
  d.stages = stages_of(node, verdict);
  d.reason =
      node.spec.name + (health.empty() ? ": " : " " + health + (rest.empty() ? "" : "; ")) + rest;
  return d;
}

namespace {

model::Decision about_upstream(const Upstream& upstream, Change change, const TickWork& work) {
  model::Decision d;
  d.table = work.table;
  d.at = work.now;
  d.node = {upstream.name(), ""};
  d.change = change;
  d.base = d.wanted = d.from = d.to = 0;
  d.share = 1;
  d.controller = upstream.weigher.controller();
  return d;
}

}  // namespace

model::Decision explain_panic(const Upstream& upstream, std::size_t healthy, std::size_t of,
                              const TickWork& work) {
  model::Decision d = about_upstream(upstream, Change::kPanic, work);
  const std::string nodes = std::to_string(healthy) + " of " + std::to_string(of) + " nodes";
  d.reason =
      upstream.name() +
      (upstream.panic ? ": panic: only " + nodes + " are healthy (limit " + percent(kPanicBelow) +
                            "), so the signals are distrusted: all but drained nodes are picked"
                      : ": panic is over: " + nodes + " are healthy");
  return d;
}

model::Decision explain_law(const Upstream& upstream, std::string reason, const TickWork& work) {
  model::Decision d = about_upstream(upstream, Change::kNone, work);
  d.reason = upstream.name() + ": " + std::move(reason);
  return d;
}

}  // namespace steelyard::control
