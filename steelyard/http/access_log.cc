#include "steelyard/http/access_log.h"

#include <algorithm>
#include <array>

#include "steelyard/base/nearest.h"
#include "steelyard/http/access_write.h"

namespace steelyard::http {
namespace {

constexpr std::string_view kCombined =
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent "
    "\"$http_referer\" \"$http_user_agent\"";

// In the order of access::Name.
constexpr std::array<AccessFormat::Variable, access::kVariables> kTable{{
    {"arg_", "the argument of that name, as it was sent"},
    {"http_", "a field of the request; `_` stands for `-`"},
    {"sent_http_", "a field of the answer; `_` stands for `-`"},
    {"args", "the query"},
    {"attempts", "attempts that were begun"},
    {"body_bytes_sent", "bytes of the answer's body, as they were sent"},
    {"bytes_sent", "bytes of the answer, head and body"},
    {"detail", "what was wrong with a request that was refused, in words"},
    {"host", "host and port that were asked for"},
    {"msec", "Unix time in seconds, with milliseconds"},
    {"node", "name of the node that answered"},
    {"pick_reason", "why that node was picked"},
    {"query_string", "the query"},
    {"reason", "why the answer is our own; - when it is the node's"},
    {"remote_addr", "address of the client"},
    {"remote_port", "port of the client"},
    {"remote_user", "always -: names of users are not kept"},
    {"request", "method, target and protocol"},
    {"request_id", "X-Request-Id"},
    {"request_length", "bytes of the request, head and body, as they came"},
    {"request_method", "method"},
    {"request_time", "seconds from the first byte of the request to the last of the answer"},
    {"request_uri", "target, with its query"},
    {"scheme", "http or https"},
    {"server_addr", "address of the listener"},
    {"server_protocol", "protocol of the request"},
    {"ssl_cipher", "cipher of the client's connection"},
    {"ssl_protocol", "TLS version of the client's connection"},
    {"status", "status that the client got; 499 when it got none"},
    {"time_iso8601", "local time, as 2026-11-30T07:14:20+00:00"},
    {"time_local", "local time, as 30/Nov/2026:07:14:20 +0000"},
    {"trace_id", "trace id of traceparent"},
    {"tries", "the same as attempts"},
    {"upstream", "name of the upstream"},
    {"upstream_addr", "addresses of the nodes that were tried, at most three: `a, b`"},
    {"upstream_connect_time", "seconds until the node was connected"},
    {"upstream_header_time", "seconds until the head of the node's answer"},
    {"upstream_response_time", "seconds until the end of the node's answer"},
    {"upstream_status", "statuses that they answered, - for none: `503, 200`"},
    {"uri", "target without its query"},
}};

bool is_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

base::Error bad(std::size_t column, const std::string& text,
                base::Code code = base::Code::kInvalid) {
  return {code, base::Origin::kOperator, false,
          "access log format: column " + std::to_string(column) + ": " + text};
}

base::Error unknown_variable(std::string_view name, std::size_t column) {
  std::vector<std::string_view> known;
  for (const auto& variable : kTable) known.push_back(variable.name);
  std::string text = "unknown variable \"$" + std::string(name) + "\"";
  const std::string_view near = base::nearest(name, known);
  text += near.empty() ? "; docs/logs.md has them all"
                       : ", did you mean \"$" + std::string(near) + "\"?";
  return bad(column, text);
}

// The place of `name` in `fields`, added when it is new; kMaxFields when there is no room.
std::size_t place_of(std::string_view name, std::vector<std::string>& fields) {
  std::string field(name);
  for (char& c : field) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  const auto at = std::find(fields.begin(), fields.end(), field);
  if (at != fields.end()) return static_cast<std::size_t>(at - fields.begin());
  if (fields.size() == AccessFormat::kMaxFields) return AccessFormat::kMaxFields;
  fields.push_back(std::move(field));
  return fields.size() - 1;
}

}  // namespace

std::span<const AccessFormat::Variable> AccessFormat::variables() noexcept { return kTable; }

base::Result<void> AccessFormat::add_variable(std::string_view name, std::size_t column) {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    const std::string_view known = kTable[i].name;
    const bool prefix = known.back() == '_';
    if (prefix ? name.size() <= known.size() || !name.starts_with(known) : name != known) continue;
    Part part;
    part.variable = static_cast<std::uint8_t>(i);
    if (prefix) {
      const std::string_view rest = name.substr(known.size());
      const auto variable = static_cast<access::Name>(i);
      part.text = rest;
      if (variable != access::Name::kArg) {
        auto& fields = variable == access::Name::kHttp ? request_fields_ : answer_fields_;
        const std::size_t place = place_of(rest, fields);
        if (place == kMaxFields) {
          return bad(column, "more than " + std::to_string(kMaxFields) + " different fields",
                     base::Code::kLimit);
        }
        part.field = static_cast<std::uint16_t>(place);
        part.secret = is_secret_field(fields[place]);
      }
    }
    parts_.push_back(std::move(part));
    return {};
  }
  return unknown_variable(name, column);
}

base::Result<void> AccessFormat::parse(std::string_view text) {
  std::string literal;
  const auto flush = [&] {
    if (literal.empty()) return;
    Part part;
    part.variable = kLiteral;
    part.text = std::exchange(literal, {});
    parts_.push_back(std::move(part));
  };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c != '$') {
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t')
        return bad(i + 1, "a control byte would break the line");
      literal += c;
      ++i;
      continue;
    }
    const std::size_t column = i + 1;
    if (text.substr(i, 2) == "$$") {
      literal += '$';
      i += 2;
      continue;
    }
    const bool braces = text.substr(i, 2) == "${";
    i += braces ? 2 : 1;
    const std::size_t from = i;
    while (i < text.size() && is_name(text[i])) ++i;
    const std::string_view name = text.substr(from, i - from);
    if (braces && (i == text.size() || text[i++] != '}'))
      return bad(column, "\"${\" without its \"}\"");
    if (name.empty()) return bad(column, "a name must follow \"$\"; \"$$\" is a dollar sign");
    flush();
    if (auto added = add_variable(name, column); !added) return added.error();
  }
  flush();
  return {};
}

base::Result<AccessFormat> AccessFormat::compile(std::string_view text, AccessEscape escape,
                                                 SecretArguments secrets) {
  AccessFormat format;
  format.secrets_ = std::move(secrets);
  format.escape_ = escape;
  if (text == "json") {
    format.json_ = true;
    format.request_fields_ = {"referer", "user-agent"};
    format.answer_fields_ = {"content-type"};
    return format;
  }
  if (text == "combined") {
    text = kCombined;
  } else if (text.find('$') == std::string_view::npos) {
    constexpr std::array<std::string_view, 2> known{"combined", "json"};
    std::string say = "unknown format \"" + std::string(text.substr(0, 100)) + "\"";
    const std::string_view near = base::nearest(text.substr(0, 100), known);
    say += near.empty() ? ", known are combined, json, and texts with $variables"
                        : ", did you mean \"" + std::string(near) + "\"?";
    return bad(1, say);
  }
  if (text.size() > kMaxText) {
    return bad(kMaxText + 1, "more than " + std::to_string(kMaxText) + " bytes",
               base::Code::kLimit);
  }
  if (auto parsed = format.parse(text); !parsed) return parsed.error();
  return format;
}

std::size_t AccessFormat::write(const AccessRecord& record, std::span<char> out) const noexcept {
  return json_ ? write_json(record, out) : write_text(record, out);
}

}  // namespace steelyard::http
