// The request's head as nodes get it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "steelyard/http/rewrite.h"
#include "steelyard/http/trace.h"
#include "steelyard/proxy/core.h"

namespace steelyard::proxy {
namespace {

// How long whoever sends a request waits for its answer, in whole milliseconds.
constexpr std::string_view kTimeField = "X-Request-Timeout-Ms";
constexpr std::string_view kHopsField = "Max-Forwards";

using Digits = std::array<char, 20>;

std::string_view write_number(Digits& to, std::int64_t number) noexcept {
  const char* const end = std::to_chars(to.data(), to.data() + to.size(), number).ptr;
  return {to.data(), static_cast<std::size_t>(end - to.data())};
}

std::int64_t in_ms(base::Duration time) noexcept {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

http::TraceRandom trace_random(base::Rng& rng) noexcept {
  http::TraceRandom out;
  const std::array<std::uint64_t, 3> random{rng(), rng(), rng()};
  std::memcpy(out.trace_id.data(), random.data(), out.trace_id.size());
  std::memcpy(out.parent_id.data(), random.data() + 2, out.parent_id.size());
  return out;
}

}  // namespace

// Every protocol that it offers must be allowed: what the node chooses is its own affair.
bool Exchange::may_upgrade(const Route& route, const http::Head& head) noexcept {
  if (head.upgrade.empty() || route.upgrades.empty()) return false;
  for (std::string_view rest = head.upgrade; !rest.empty();) {
    const auto comma = rest.find(',');
    auto one = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) one.remove_prefix(1);
    while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.remove_suffix(1);
    if (one.empty()) continue;
    const auto same = [&](const std::string& allowed) { return http::same_word(allowed, one); };
    if (std::none_of(route.upgrades.begin(), route.upgrades.end(), same)) return false;
  }
  return true;
}

// How long the client has for the answer, when it may tell.
std::optional<base::Duration> Exchange::given_time(const http::Head& head) const noexcept {
  if (!trusted_) return std::nullopt;
  const http::Field* const field = head.find(kTimeField);
  if (field == nullptr) return std::nullopt;
  std::uint32_t ms = 0;
  const char* const end = field->value.data() + field->value.size();
  const auto [at, error] = std::from_chars(field->value.data(), end, ms);
  if (error != std::errc{} || at != end) return std::nullopt;
  return std::chrono::milliseconds(ms);
}

// RFC 9110 7.6.2. TRACE never comes this far. A line that is no number, and several of them, say
// nothing that we could count.
std::optional<std::uint32_t> Exchange::hops_left(const http::Head& head) noexcept {
  if (head.method != http::Method::kOptions) return std::nullopt;
  const http::Field* found = nullptr;
  for (const http::Field& field : head.fields) {
    if (!http::same_word(field.name, kHopsField)) continue;
    if (found != nullptr) return std::nullopt;
    found = &field;
  }
  if (found == nullptr) return std::nullopt;
  std::uint32_t hops = 0;
  const char* const end = found->value.data() + found->value.size();
  const auto [at, error] = std::from_chars(found->value.data(), end, hops);
  if (at != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::numeric_limits<std::uint32_t>::max();
  return hops;
}

void Exchange::write_head(const http::Head& head, const Route& route,
                          std::optional<base::Duration> given,
                          std::optional<std::uint32_t> hops) noexcept {
  http::RequestEdits edits;
  edits.peer_ip = client_->peer_ip();
  edits.host = generation_->config->listeners[client_->listening().place].host;
  edits.trust_forwarded = trusted_;
  if (head.https) edits.scheme = "https";  // of a trusted one only
  edits.upgrade = facts_.upgrade;
  edits.trailers = facts_.trailers;
  if (head.find(http::FieldId::kXRequestId) == nullptr) edits.request_id = core_.next_request_id();

  std::optional<http::Trace> trace;
  if (route.trace) {
    trace.emplace(head, trace_random(core_.rng), core_.rng.unit() < route.trace->sample);
    edits.traceparent = trace->traceparent();
    edits.new_trace = !trace->continued();
  }

  std::array<http::Field, 2> set;
  std::size_t sets = 0;
  Digits hop_digits;
  if (hops) set[sets++] = {.name = kHopsField, .value = write_number(hop_digits, *hops - 1)};
  Digits digits;
  std::string_view time;
  const auto total = route.policy.timeouts.total;
  time_place_ = 0;
  const bool tell = given || (total && route.policy.timeouts.tell);
  if (tell) {
    time_told_ = in_ms(
        std::min(given.value_or(base::Duration::max()), total.value_or(base::Duration::max())));
    time = write_number(digits, time_told_);
    set[sets++] = {.name = kTimeField, .value = time};
  }
  edits.set = std::span(set).first(sets);

  auto slab = core_.reactor.slab(http::request_bound(head, edits));
  const auto size = http::write_request(head, edits, slab.text());
  if (tell) {
    const std::string_view text(slab.text(), size);
    time_place_ = text.find(time, text.rfind(kTimeField) + kTimeField.size() + 1);
  }
  head_ = std::move(slab).take(size);
}

// The head for one attempt: what time is left is told anew when it has become less.
base::Buf Exchange::head_bytes() noexcept {
  if (time_place_ == 0) return head_.share();
  const auto left = in_ms(rules_.total_deadline() - core_.reactor.now());
  if (left == time_told_) return head_.share();
  Digits digits;
  const auto told = write_number(digits, std::max<std::int64_t>(left, 0));
  auto slab = core_.reactor.slab(head_.size());
  char* const text = slab.text();
  std::memcpy(text, head_.bytes().data(), head_.size());
  // Blanks before a value are no part of it; the first telling had no fewer digits.
  char* const from = text + time_place_;
  char* const end = std::find(from, text + head_.size(), '\r');
  std::fill(from, end, ' ');
  std::copy(told.begin(), told.end(), end - told.size());
  return std::move(slab).take(head_.size());
}

}  // namespace steelyard::proxy
