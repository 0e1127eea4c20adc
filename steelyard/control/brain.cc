#include "steelyard/control/brain.h"

#include <algorithm>
#include <utility>

#include "steelyard/control/state.h"
#include "steelyard/control/words.h"

namespace steelyard::control {

Node* Upstream::find(std::string_view node) const noexcept {
  for (const auto& n : nodes) {
    if (n != nullptr && n->spec.name == node)
      return n.get();  // null: it moved on to the next setup
  }
  return nullptr;
}

Upstream* Brain::State::find(std::string_view upstream) const noexcept {
  for (const auto& u : upstreams) {
    if (u->name() == upstream) return u.get();
  }
  return nullptr;
}

Node* Brain::State::find(model::NodeRef ref) const noexcept {
  if (ref.slot >= by_slot.size()) return nullptr;
  Node* node = by_slot[ref.slot];
  return node != nullptr && node->ref == ref ? node : nullptr;
}

Brain::Brain(model::Slots& slots) : state_(std::make_unique<State>(slots)) {}
Brain::~Brain() = default;

void Brain::observe(const model::ReportSample& sample) {
  Node* node = state_->find(sample.node);
  if (node == nullptr) return;
  node->observer.add(sample);
  node->reported = true;
  node->gate.report(node->upstream->setup.health, sample);
}

void Brain::observe(const model::CheckSample& sample) {
  Node* node = state_->find(sample.node);
  if (node != nullptr) node->gate.check(node->upstream->setup.health, sample);
}

Tick Brain::tick(base::TimePoint now) {
  State& s = *state_;
  Tick result;
  TickWork work{s.slots, s.inputs, s.outcomes, now, (s.table ? s.table->number : 0) + 1};
  bool changed = std::exchange(s.restructured, false);
  result.decisions = std::exchange(s.pending, {});
  for (const auto& upstream : s.upstreams) {
    changed = tick_upstream(*upstream, work, result.decisions) || changed;
  }
  if (changed) s.publish(work.table);
  const std::uint64_t number = s.table->number;
  for (model::Decision& d : result.decisions) {
    d.table = number;  // what is only held back stands in the Table that is there
    s.history.add(d);
  }
  s.collect();
  result.table = s.table;
  result.changed = changed;
  return result;
}

void Brain::State::publish(std::uint64_t number) {
  auto next = std::make_shared<model::Table>();
  next->number = number;
  next->upstreams.reserve(upstreams.size());
  for (const auto& upstream : upstreams) {
    model::TableUpstream& out = next->upstreams.emplace_back();
    out.name = upstream->name();
    out.panic = upstream->panic;
    out.nodes.reserve(upstream->nodes.size());
    for (const auto& node : upstream->nodes) {
      out.nodes.push_back(
          {node->ref, node->spec.name, node->spec.address, node->weight, node->eligibility});
    }
  }
  table = std::move(next);
  for (Leaving& node : leaving) {
    if (node.absent_since == 0) node.absent_since = number;
  }
}

void Brain::workers_past(std::uint64_t table_number) {
  state_->past = std::max(state_->past, table_number);
  state_->collect();
}

void Brain::State::collect() {
  std::erase_if(leaving, [this](const Leaving& node) {
    if (node.published && (node.absent_since == 0 || past < node.absent_since)) return false;
    // A worker counts before it gives its token back: acquire, so that those counts are seen below.
    if (slots.line(node.ref).in_flight.load(std::memory_order_acquire) != 0) return false;
    if (node.meter.pooled(slots) != 0) return false;
    (node.orphan ? orphaned : gone[node.id.upstream]).add(node.meter.counts(slots));
    slots.release(node.ref);
    return true;
  });
  // A reload may exchange thousands of nodes, at 1.8 KiB each, and the next one none.
  if (leaving.empty()) leaving.shrink_to_fit();
}

const History& Brain::history() const noexcept { return state_->history; }
const std::shared_ptr<const model::Table>& Brain::table() const noexcept { return state_->table; }
std::size_t Brain::leaving() const noexcept { return state_->leaving.size(); }

std::vector<pick::Chosen> Brain::pickers() const {
  std::vector<pick::Chosen> out;
  for (const auto& upstream : state_->upstreams) out.push_back(upstream->setup.picker);
  return out;
}

model::NodeRef Brain::find(std::string_view upstream, std::string_view node) const noexcept {
  const Upstream* u = state_->find(upstream);
  const Node* n = u == nullptr ? nullptr : u->find(node);
  return n == nullptr ? model::NodeRef{} : n->ref;
}

std::vector<std::byte> Brain::save(base::TimePoint now) const {
  model::StateBlob blob;
  for (const auto& upstream : state_->upstreams) {
    for (const auto& node : upstream->nodes) {
      const health::Memory memory = node->gate.memory(now);
      blob.nodes.push_back({{upstream->name(), node->spec.name},
                            node->spec.address.to_text(),
                            node->control,
                            memory.ejections,
                            memory.out_for,
                            memory.ramp_age,
                            node->override_});
    }
  }
  return model::encode(blob, now);
}

base::Result<void> Brain::restore(std::span<const std::byte> bytes, base::TimePoint now) {
  auto blob = model::decode(bytes, now);
  if (!blob) return blob.error();
  for (const model::NodeState& saved : blob->nodes) {
    Upstream* upstream = state_->find(saved.id.upstream);
    Node* node = upstream == nullptr ? nullptr : upstream->find(saved.id.name);
    if (node == nullptr) continue;
    if (saved.override_ && saved.override_->until > now) {
      node->override_ = saved.override_;
      node->events.push_back(
          {model::Change::kOverride, "override " + number(saved.override_->weight) + " by " +
                                         saved.override_->by + " goes on from before the restart"});
    }
    if (node->spec.address.to_text() != saved.address) continue;  // another incarnation
    node->gate.restore(upstream->setup.health, {saved.ejections, saved.out_for, saved.ramp_age},
                       now);
    node->control = saved.control;
    upstream->weigher.restore(node->ref, saved.control);
  }
  return {};
}

}  // namespace steelyard::control
