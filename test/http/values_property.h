// Properties of what reads values: authorities, targets, queries, cookies, trace parents, dates.
//
// Input: one byte that picks the reader, then the value. What is accepted is written again and read
// as the same; what is found stands where it must; a plain second way gives the same.
#pragma once

#include <algorithm>
#include <string>

#include "steelyard/http/chars.h"
#include "steelyard/http/date.h"
#include "steelyard/http/lookup.h"
#include "steelyard/http/secrets.h"
#include "steelyard/http/target.h"
#include "steelyard/http/trace.h"

#include "test/http/recorder.h"
#include "test/http/require.h"

namespace steelyard::http::testing {

inline bool served(const std::string& wire, Recorder& seen) {
  auto server = make_http1_server(make_http1_pool(), seen);
  server->receive(base::Buf::heap_copy(wire));
  return seen.refused == 0 && seen.messages.size() == 1;
}

inline void check_authority(std::string_view value) {
  const bool bytes_fine =
      std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!bytes_fine) return require(!valid_authority(value));
  Recorder seen;
  const bool taken = served("GET / HTTP/1.1\r\nHost: " + std::string(value) + "\r\n\r\n", seen);
  require(taken == valid_authority(value));
  if (!taken) return;
  require(seen.messages[0].authority == value);
  const std::string_view host = host_of(value);
  require(!host.empty() && value.find(host) != std::string_view::npos);
  if (host.find(':') == std::string_view::npos) require(host_of(host) == host);  // idempotent
}

inline void check_target(std::string_view value) {
  if (value.find_first_of("\r\n ") != std::string_view::npos) return;  // it would be more than that
  Recorder seen;
  if (!served("GET " + std::string(value) + " HTTP/1.1\r\nHost: x\r\n\r\n", seen)) return;
  const Message& m = seen.messages[0];
  require(!m.target.empty());
  Recorder again;
  const std::string target = m.target.front() == '?' ? "/" + m.target : m.target;
  require(served("GET " + target + " HTTP/1.1\r\nHost: " + m.authority + "\r\n\r\n", again));
  require(again.messages[0].target == target && again.messages[0].authority == m.authority);
  Head head;
  head.path = target;
  const std::string_view path = path_of(head);
  const std::string_view query = query_of(head);
  require(path.find('?') == std::string_view::npos);
  const std::string joined =
      std::string(path) + (path.size() < target.size() ? "?" : "") + std::string(query);
  require(joined == target);
  static const SecretArguments secrets;
  std::string pieces;
  secrets.split(value, [&](std::string_view piece, bool) { pieces += piece; });
  require(pieces == value);
}

inline void check_query(std::string_view value) {
  const std::size_t half = value.find('\n');
  const std::string_view name = value.substr(0, half);
  const std::string_view query = half == std::string_view::npos ? "" : value.substr(half + 1);
  const auto found = query_argument(query, name);
  std::optional<std::string> want;
  if (!name.empty()) {  // pad, so that each argument stands between two separators
    const std::string padded = "&" + std::string(query) + "&";
    const std::string key = "&" + std::string(name);
    const std::size_t with = padded.find(key + "=");
    const std::size_t bare = padded.find(key + "&");
    if (name.find_first_of("&=") != std::string_view::npos) {
      require(!found);
      return;
    }
    if (with != std::string::npos && with < bare) {
      const std::size_t from = with + key.size() + 1;
      want = padded.substr(from, padded.find('&', from) - from);
    } else if (bare != std::string::npos) {
      want = "";
    }
  }
  require(found.has_value() == want.has_value() && (!found || *found == *want));
}

inline void check_cookie(std::string_view value) {
  if (std::any_of(value.begin(), value.end(), [](char c) { return !is_char(c, kValue); })) return;
  const Field fields[] = {{"Cookie", value, FieldId::kCookie},
                          {"Cookie", "zz=9", FieldId::kCookie}};
  Head head;
  head.fields = fields;
  const std::size_t end = value.find(';');
  const std::string_view first = value.substr(0, end);
  const std::size_t equals = first.find('=');
  if (equals != std::string_view::npos && equals > 0 && first[0] > ' ' && first[equals - 1] > ' ') {
    const auto found = cookie(head, first.substr(0, equals));
    require(found && first.find(*found, equals) != std::string_view::npos);
  }
  require(cookie(head, "zz").has_value());
}

inline void check_traceparent(std::string_view value) {
  const auto parent = parse_traceparent(value);
  const Field fields[] = {{"traceparent", value, FieldId::kTraceParent}};
  Head head;
  head.fields = fields;
  const Trace trace(head, {{1}, {2}}, false);
  require(trace.continued() == parent.has_value());
  const auto again = parse_traceparent(trace.traceparent());
  require(again && again->parent_id == trace.parent_id());
  if (parent) require(again->trace_id == parent->trace_id && again->sampled == parent->sampled);
}

inline void check_date(std::string_view value) {
  using namespace std::chrono_literals;
  const std::chrono::sys_seconds now(1'796'022'860s);
  const auto wait = parse_retry_after(value, now, 3600s);
  require(!wait || (*wait >= 0s && *wait <= 3600s));
  const auto date = parse_date(value, now);
  if (!date) return;
  require(wait.has_value());
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(*date));
  const auto clock = (*date - std::chrono::floor<std::chrono::days>(*date)).count();
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char text[64];
  std::snprintf(text, sizeof text, "Mon, %02u %s %04d %02d:%02d:%02d GMT",
                static_cast<unsigned>(day.day()), kMonths[static_cast<unsigned>(day.month()) - 1],
                static_cast<int>(day.year()), static_cast<int>(clock / 3600),
                static_cast<int>(clock / 60 % 60), static_cast<int>(clock % 60));
  require(parse_date(text, now) == date);
}

inline void check_values_property(std::string_view input) {
  if (input.empty() || input.size() > 4000) return;
  const auto pick = static_cast<unsigned char>(input[0]) % 6;
  input.remove_prefix(1);
  using Check = void (*)(std::string_view);
  static constexpr Check kChecks[] = {check_authority, check_target,      check_query,
                                      check_cookie,    check_traceparent, check_date};
  kChecks[pick](input);
}

}  // namespace steelyard::http::testing
