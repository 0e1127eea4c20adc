#include "steelyard/http/head.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace steelyard::http {
namespace {

template <typename Word>
Word read(const char* at) noexcept {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Equal as far as words of this size reach, the last one overlapping the one before.
template <typename Word>
bool is_word_by(std::string_view name, std::string_view word) noexcept {
  constexpr auto kLow = static_cast<Word>(0x2020202020202020);
  const auto differs = [&](std::size_t at) {
    return (read<Word>(name.data() + at) | kLow) != read<Word>(word.data() + at);
  };
  const std::size_t last = word.size() - sizeof(Word);
  for (std::size_t at = 0; at < last; at += sizeof(Word)) {
    if (differs(at)) return false;
  }
  return !differs(last);
}

// `word` is lower case and as long; only the other case of its letters is equal. Names are tokens,
// so
// `| 0x20` maps nothing else on it.
bool is_word(std::string_view name, std::string_view word) noexcept {
  if (word.size() >= 8) return is_word_by<std::uint64_t>(name, word);
  if (word.size() >= 4) return is_word_by<std::uint32_t>(name, word);
  return is_word_by<std::uint16_t>(name, word);
}

struct Known {
  std::string_view word;
  FieldId id;
};

template <std::size_t N>
FieldId among(std::string_view name, const Known (&known)[N]) noexcept {
  const unsigned first = static_cast<unsigned char>(name.front()) | 0x20U;
  for (const Known& one : known) {
    if (first == static_cast<unsigned char>(one.word.front()) && is_word(name, one.word))
      return one.id;
  }
  return FieldId::kOther;
}

constexpr Known k2[] = {{"te", FieldId::kTe}};
constexpr Known k3[] = {{"via", FieldId::kVia}};
constexpr Known k4[] = {{"host", FieldId::kHost}};
constexpr Known k6[] = {{"expect", FieldId::kExpect}, {"cookie", FieldId::kCookie}};
constexpr Known k7[] = {{"upgrade", FieldId::kUpgrade}, {"trailer", FieldId::kTrailer}};
constexpr Known k9[] = {{"forwarded", FieldId::kForwarded}, {"x-real-ip", FieldId::kXRealIp}};
constexpr Known k10[] = {{"connection", FieldId::kConnection},
                         {"keep-alive", FieldId::kKeepAlive},
                         {"set-cookie", FieldId::kSetCookie},
                         {"tracestate", FieldId::kTraceState}};
constexpr Known k11[] = {{"retry-after", FieldId::kRetryAfter},
                         {"traceparent", FieldId::kTraceParent}};
constexpr Known k12[] = {{"content-type", FieldId::kContentType},
                         {"x-request-id", FieldId::kXRequestId}};
constexpr Known k13[] = {{"authorization", FieldId::kAuthorization},
                         {"cache-control", FieldId::kCacheControl},
                         {"content-range", FieldId::kContentRange}};
constexpr Known k14[] = {{"content-length", FieldId::kContentLength},
                         {"http2-settings", FieldId::kHttp2Settings}};
constexpr Known k15[] = {{"x-forwarded-for", FieldId::kXForwardedFor}};
constexpr Known k16[] = {{"x-forwarded-host", FieldId::kXForwardedHost},
                         {"x-forwarded-port", FieldId::kXForwardedPort},
                         {"content-encoding", FieldId::kContentEncoding},
                         {"proxy-connection", FieldId::kProxyConnection}};
constexpr Known k17[] = {{"transfer-encoding", FieldId::kTransferEncoding},
                         {"x-forwarded-proto", FieldId::kXForwardedProto}};
constexpr Known k21[] = {{"endpoint-load-metrics", FieldId::kLoadReport}};
constexpr Known k25[] = {{"endpoint-load-metrics-bin", FieldId::kLoadReport}};

}  // namespace

FieldId field_of(std::string_view name) noexcept {
  switch (name.size()) {
    case 2:
      return among(name, k2);
    case 3:
      return among(name, k3);
    case 4:
      return among(name, k4);
    case 6:
      return among(name, k6);
    case 7:
      return among(name, k7);
    case 9:
      return among(name, k9);
    case 10:
      return among(name, k10);
    case 11:
      return among(name, k11);
    case 12:
      return among(name, k12);
    case 13:
      return among(name, k13);
    case 14:
      return among(name, k14);
    case 15:
      return among(name, k15);
    case 16:
      return among(name, k16);
    case 17:
      return among(name, k17);
    case 21:
      return among(name, k21);
    case 25:
      return among(name, k25);
    default:
      return FieldId::kOther;
  }
}

Method method_of(std::string_view text) noexcept {
  switch (text.size()) {
    case 3:
      return text == "GET" ? Method::kGet : text == "PUT" ? Method::kPut : Method::kOther;
    case 4:
      return text == "POST" ? Method::kPost : text == "HEAD" ? Method::kHead : Method::kOther;
    case 5:
      return text == "PATCH" ? Method::kPatch : text == "TRACE" ? Method::kTrace : Method::kOther;
    case 6:
      return text == "DELETE" ? Method::kDelete : Method::kOther;
    case 7:
      return text == "OPTIONS"   ? Method::kOptions
             : text == "CONNECT" ? Method::kConnect
                                 : Method::kOther;
    default:
      return Method::kOther;
  }
}

bool same_word(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<unsigned char>(a[i]);
    const auto y = static_cast<unsigned char>(b[i]);
    if (x == y) continue;
    const unsigned low = x | 0x20U;
    if ((x ^ y) != 0x20U || low < 'a' || low > 'z') return false;
  }
  return true;
}

const Field* Head::find(std::string_view name) const noexcept {
  for (const Field& field : fields) {
    if (same_word(field.name, name)) return &field;
  }
  return nullptr;
}

}  // namespace steelyard::http
