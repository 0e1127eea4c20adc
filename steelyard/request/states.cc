#include "steelyard/request/states.h"

#include <algorithm>
#include <utility>

namespace steelyard::request {

void Rests::add(model::NodeRef node, base::Duration rest, base::TimePoint now) noexcept {
  const auto until = now + std::min(rest, kLongest);
  Rest* place = nullptr;
  for (std::size_t i = 0; i < size_; ++i) {
    if (rests_[i].node == node) return void(rests_[i].until = until);
    if (rests_[i].until <= now) place = &rests_[i];
  }
  if (place == nullptr && size_ < kMost) place = &rests_[size_++];
  if (place != nullptr) *place = {node, until};
}

std::size_t Rests::copy(std::span<model::NodeRef> out, base::TimePoint now) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size_;) {
    if (rests_[i].until <= now) {
      rests_[i] = rests_[--size_];
      continue;
    }
    if (count < out.size()) out[count++] = rests_[i].node;
    ++i;
  }
  return count;
}

void UpstreamState::adopt(const model::TableUpstream& upstream, const UpstreamRules& with,
                          const model::Slots& slots) {
  rules = with;
  key = KeySource::parse(with.key).value_or(KeySource());
  const auto& limits = with.limits;
  const bool gradient = limits.concurrency == Concurrency::kGradient;
  auto before = std::exchange(gradients_, {});
  if (gradient) gradients_.reserve(upstream.nodes.size());
  for (std::size_t i = 0; i < upstream.nodes.size(); ++i) {
    const auto ref = upstream.nodes[i].ref;
    auto& line = slots.line(ref);
    if (!gradient) {
      line.set_limit(limits.max_in_flight);
      tell(ref, {}, slots);
      continue;
    }
    const double now = line.limit();
    const double least = limits.min_in_flight;
    const double kept = std::clamp(now, least, static_cast<double>(limits.ceiling()));
    if (kept != now) line.set_limit(kept);
    const auto known =
        i < before.size() && before[i].node == ref
            ? before.begin() + static_cast<std::ptrdiff_t>(i)
            : std::find_if(
                  before.begin(), before.end(), [&](const auto& one) { return one.node == ref; });
    gradients_.push_back(known != before.end() ? *known : NodeGradient{ref, {}});
    tell(ref, gradients_.back().gradient, slots);
  }
}

// For whoever reads what the limit goes by.
void UpstreamState::tell(model::NodeRef node, const Gradient& gradient,
                         const model::Slots& slots) const noexcept {
  slots.cells(node, worker_)
      .base_latency.set(static_cast<std::uint64_t>(gradient.long_run() * 1e9));
}

void UpstreamState::answered(model::NodeRef node, std::uint32_t at, base::Duration took,
                             const model::Slots& slots, base::TimePoint now) noexcept {
  latency.add(took, now);
  if (gradients_.empty()) return;
  NodeGradient* found = at < gradients_.size() ? &gradients_[at] : nullptr;
  if (found == nullptr || found->node != node) {
    const auto one = std::find_if(gradients_.begin(), gradients_.end(),
                                  [&](const auto& entry) { return entry.node == node; });
    if (one == gradients_.end()) return;
    found = &*one;
  }
  auto& line = slots.line(node);
  const auto in_flight = line.in_flight.load(std::memory_order_relaxed);
  const auto next = found->gradient.answered(
      took, in_flight, line.limit(), rules.limits.min_in_flight, rules.limits.ceiling(), now);
  if (!next) return;
  line.set_limit(*next);
  tell(node, found->gradient, slots);
}

void States::adopt(const model::Table& table, std::span<const std::string> names,
                   std::span<const UpstreamRules> rules, const model::Slots& slots) {
  auto before = std::exchange(entries_, {});
  entries_.reserve(table.upstreams.size());
  const UpstreamRules none;
  for (std::size_t i = 0; i < table.upstreams.size(); ++i) {
    const auto& upstream = table.upstreams[i];
    const auto same = [&](const Entry& entry) { return entry.upstream == upstream.name; };
    // Mostly nothing moved.
    auto known = i < before.size() && same(before[i])
                     ? before.begin() + static_cast<std::ptrdiff_t>(i)
                     : std::find_if(before.begin(), before.end(), same);
    Entry entry{upstream.name, nullptr};
    if (known != before.end()) {
      entry.state = std::move(known->state);
    } else {
      entry.state = std::make_unique<UpstreamState>(workers_, worker_);
    }
    const auto named = i < names.size() && names[i] == upstream.name
                           ? names.begin() + static_cast<std::ptrdiff_t>(i)
                           : std::find(names.begin(), names.end(), upstream.name);
    const bool ruled = named != names.end();
    entry.state->adopt(
        upstream, ruled ? rules[static_cast<std::size_t>(named - names.begin())] : none, slots);
    entries_.push_back(std::move(entry));
  }
  for (Entry& entry : before) {
    if (entry.state != nullptr && !entry.state->queue.empty()) entries_.push_back(std::move(entry));
  }
}

std::size_t States::waiting() const noexcept {
  std::size_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.state->queue.size();
  return sum;
}

}  // namespace steelyard::request
