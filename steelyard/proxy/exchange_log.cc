// What the access log is told of an exchange, at its end.
#include <algorithm>
#include <array>
#include <cstring>

#include "steelyard/proxy/core.h"

namespace steelyard::proxy {

namespace {

constexpr std::array<std::string_view, 4> kHow{"", "+retry", "+hedge", "+queue"};

using PickText = KeptFacts::PickText;

// Who picked, and what led to it: `least_connections+retry`.
std::string_view pick_text(std::string_view picker, const request::Summary& summary,
                           PickText& to) noexcept {
  std::size_t size = 0;
  const auto put = [&](std::string_view part) {
    const auto fits = std::min(part.size(), to.size() - size);
    std::copy_n(part.begin(), fits, to.begin() + static_cast<std::ptrdiff_t>(size));
    size += fits;
  };
  put(picker);
  put(kHow[static_cast<std::size_t>(summary.picked)]);
  if (summary.panic) put("+panic");
  return {to.data(), size};
}

}  // namespace

// A copy: a piece of the receive buffer would hold all of it until the end.
void Exchange::keep_answer_head(const base::Buf& head) noexcept {
  if (!core_.logging() || !core_.config()->log_answer_heads) return;
  const std::size_t size = std::min(head.size(), AccessFacts::kMostHead);
  auto slab = core_.reactor.slab(size);
  std::memcpy(slab.text(), head.bytes().data(), size);
  answer_head_ = std::move(slab).take(size);
}

// Who was tried. Names are the Table's, which may no longer have them.
void Exchange::find_nodes(const request::Summary& summary, AccessFacts& facts,
                          PickText& pick) const noexcept {
  const std::size_t at = upstream_;
  if (generation_ == nullptr || at >= generation_->config->upstreams.size()) return;
  facts.upstream = generation_->config->upstreams[at];
  const auto place = generation_->places[at];
  if (!place || summary.tries == 0) return;
  facts.pick_reason = pick_text(core_.record->table->kinds[*place]->name, summary, pick);
  const auto& nodes = core_.record->table->model->upstreams[*place].nodes;
  const auto find = [&](model::NodeRef ref) -> const model::TableNode* {
    const auto node =
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return one.ref == ref; });
    return node == nodes.end() ? nullptr : &*node;
  };
  if (const auto* const node = find(summary.node)) {
    facts.node = node->address;
    facts.node_name = node->name;
  }
  for (std::size_t i = 0; i < summary.earlier_count; ++i) {
    const auto* const node = find(summary.earlier[i].node);
    facts.earlier[i] = {node == nullptr ? base::Address() : node->address,
                        static_cast<std::uint16_t>(summary.earlier[i].status)};
  }
  facts.earlier_count = static_cast<std::uint32_t>(summary.earlier_count);
}

// What the log will be told of a tunnel that lets its Config go. The head is copied to the byte: a
// piece of a slab would hold all of it for as long as the tunnel lives.
void Exchange::keep_nodes() noexcept {
  AccessFacts facts;
  PickText pick;
  find_nodes(rules_.summary(), facts, pick);
  kept_ = std::make_unique<KeptFacts>(facts);
  head_ = base::Buf::heap_copy(head_.text().substr(0, AccessFacts::kMostHead));
  if (!answer_head_.empty()) answer_head_ = base::Buf::heap_copy(answer_head_.text());
}

KeptFacts::KeptFacts(const AccessFacts& facts)
    : upstream(facts.upstream),
      node_name(facts.node_name),
      pick_reason(facts.pick_reason),
      node(facts.node),
      earlier(facts.earlier),
      earlier_count(facts.earlier_count) {}

void KeptFacts::tell(AccessFacts& facts) const noexcept {
  facts.upstream = upstream;
  facts.node_name = node_name;
  facts.pick_reason = pick_reason;
  facts.node = node;
  facts.earlier = earlier;
  facts.earlier_count = earlier_count;
}

void Exchange::tell_log() noexcept {
  AccessFacts facts;
  facts.began = asked_;
  facts.ended = core_.reactor.now();
  facts.client = client_address_;
  facts.listener = client_->listening().address();
  facts.head = head_.text();
  facts.answer_head = answer_head_.text();
  facts.version = old_client_ ? http::Version::k10 : http::Version::k11;
  facts.bytes_in = client_->used() - in_from_;
  const auto sent =
      std::max(client_->written() - (cut_ ? client_->unsent() : 0), out_from_) - out_from_;
  facts.bytes_out = sent;
  // Broken off with the head still unsent, it never reached the client.
  facts.status = status_ == 0 || (cut_ && sent == 0) ? AccessFacts::kNothing : status_;
  if (body_from_ != kNoBody) {
    facts.body_bytes_out = sent - std::min(sent, body_from_ - out_from_);
  }
  if (reason_ != request::Reason::kNone) facts.reason = request::describe(reason_).word;
  facts.detail = detail_;
  PickText pick;
  if (ruled_) {
    const auto summary = rules_.summary();
    facts.tries = summary.tries;
    facts.connect_time = summary.connect;
    facts.head_time = summary.head;
    if (summary.node_status != 0) {
      facts.node_status = static_cast<std::uint16_t>(summary.node_status);
      facts.answer_time = facts.ended - summary.began;
    }
    kept_ != nullptr ? kept_->tell(facts) : find_nodes(summary, facts, pick);
  }
  core_.log(facts);
}

}  // namespace steelyard::proxy
