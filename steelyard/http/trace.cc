#include "steelyard/http/trace.h"

#include <algorithm>
#include <cstring>

namespace steelyard::http {
namespace {

bool is_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view text) noexcept {
  return text.find_first_not_of('0') == std::string_view::npos;
}

char* put(std::string_view text, char* at) noexcept {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

template <std::size_t N>
char* put_id(const std::array<std::uint8_t, N>& bytes, char* at) noexcept {
  constexpr std::string_view kDigits = "0123456789abcdef";
  char* const begin = at;
  for (const std::uint8_t byte : bytes) {
    *at++ = kDigits[byte >> 4];
    *at++ = kDigits[byte & 15];
  }
  if (is_zero({begin, 2 * N})) at[-1] = '1';
  return at;
}

std::optional<TraceParent> came_with(const Head& head) noexcept {
  const Field* found = nullptr;
  for (const Field& field : head.fields) {
    if (field.id != FieldId::kTraceParent) continue;
    if (found != nullptr) return std::nullopt;
    found = &field;
  }
  return found == nullptr ? std::nullopt : parse_traceparent(found->value);
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view value) noexcept {
  constexpr std::size_t kSize = 55;
  if (value.size() < kSize || value[2] != '-' || value[35] != '-' || value[52] != '-')
    return std::nullopt;
  const std::string_view version = value.substr(0, 2);
  const TraceParent parent{value.substr(3, 32), value.substr(36, 16)};
  const std::string_view flags = value.substr(53, 2);
  if (!is_hex(version) || !is_hex(parent.trace_id) || !is_hex(parent.parent_id) || !is_hex(flags))
    return std::nullopt;
  if (version == "ff" || is_zero(parent.trace_id) || is_zero(parent.parent_id)) return std::nullopt;
  if (value.size() > kSize && (version == "00" || value[kSize] != '-')) return std::nullopt;
  const char low = flags[1];
  const auto bits = static_cast<unsigned>(low <= '9' ? low - '0' : low - 'a' + 10);
  return TraceParent{parent.trace_id, parent.parent_id, (bits & 1U) != 0};
}

Trace::Trace(const Head& head, const TraceRandom& random, bool sample) noexcept {
  const auto came = came_with(head);
  continued_ = came.has_value();
  char* at = put("00-", text_.data());
  at = came ? put(came->trace_id, at) : put_id(random.trace_id, at);
  at = put_id(random.parent_id, put("-", at));
  put((came ? came->sampled : sample) ? "-01" : "-00", at);
}

}  // namespace steelyard::http
