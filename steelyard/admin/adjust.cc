#include "steelyard/admin/adjust.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "steelyard/schema/scalar.h"

namespace steelyard::admin {
namespace {

using Json = nlohmann::json;
constexpr auto kLongest = std::chrono::hours(24 * 30);
constexpr std::size_t kLongestText = 200;

base::Error bad(std::string text) {
  return {.code = base::Code::kInvalid,
          .origin = base::Origin::kClient,
          .retry_safe = false,
          .text = std::move(text)};
}

base::Result<std::string> text_of(const std::string& key, const Json& value) {
  if (!value.is_string()) return bad("\"" + key + "\" must be a string");
  auto text = value.get<std::string>();
  if (text.empty()) return bad("\"" + key + "\" is empty");
  if (text.size() > kLongestText) return bad("\"" + key + "\" is longer than 200 bytes");
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return bad("\"" + key + "\" contains a control character");
    }
  }
  return text;
}

base::Result<double> weight_of(const Json& value) {
  if (!value.is_number()) return bad("\"weight\" must be a number");
  const auto weight = value.get<double>();
  if (!std::isfinite(weight) || weight > kMaxWeight || (weight != 0 && weight < kMinWeight)) {
    return bad("\"weight\" must be 0 (drain), or from 0.001 to 1000000");
  }
  return weight;
}

base::Result<base::Duration> expiry_of(const Json& value) {
  base::Duration out{};
  if (value.is_number()) {
    const auto s = value.get<double>();
    if (!(s > 0) || s > base::seconds(kLongest)) {
      return bad("\"expires\" must be more than 0 and at most 30 days (2592000 seconds)");
    }
    out = base::from_seconds(s);
  } else if (value.is_string()) {
    auto parsed = schema::parse_duration(value.get<std::string>());
    if (!parsed) return bad("\"expires\" " + parsed.error().text);
    out = *parsed;
  } else {
    return bad("\"expires\" must be a duration such as \"30m\", or a number of seconds");
  }
  if (out <= base::Duration::zero() || out > kLongest) {
    return bad("\"expires\" must be more than 0 and at most 30 days");
  }
  return out;
}

base::Result<void> take(Adjustment& out, const std::string& key, const Json& value) {
  if (key == "weight") {
    auto weight = weight_of(value);
    if (!weight) return weight.error();
    out.weight = *weight;
    return {};
  }
  if (key == "expires") {
    auto expires = expiry_of(value);
    if (!expires) return expires.error();
    out.expires = *expires;
    return {};
  }
  std::string* const field = key == "node"       ? &out.node
                             : key == "upstream" ? &out.upstream
                             : key == "reason"   ? &out.reason
                                                 : nullptr;
  if (field == nullptr) {
    return bad("unknown field \"" + key.substr(0, kLongestText) +
               "\"; known are node, weight, upstream, reason, expires");
  }
  auto text = text_of(key, value);
  if (!text) return text.error();
  *field = std::move(*text);
  return {};
}

}  // namespace

base::Result<Adjustment> parse_adjustment(std::string_view body) {
  // The parser keeps the last of two equal keys; this notes that there were two.
  std::vector<std::string> keys;
  bool twice = false;
  const auto note = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      const auto& key = parsed.get_ref<const std::string&>();
      twice = twice || std::find(keys.begin(), keys.end(), key) != keys.end();
      keys.push_back(key);
    }
    return true;
  };
  const auto json = Json::parse(body, note, /*allow_exceptions=*/false);
  if (json.is_discarded()) return bad("the body is not valid JSON");
  if (!json.is_object()) return bad("the body must be a JSON object");
  if (twice) return bad("a field stands twice in the body");
  Adjustment out;
  for (const auto& [key, value] : json.items()) {
    if (auto taken = take(out, key, value); !taken) return taken.error();
  }
  if (!json.contains("node")) return bad("\"node\" is missing");
  if (!json.contains("weight")) return bad("\"weight\" is missing");
  return out;
}

}  // namespace steelyard::admin
