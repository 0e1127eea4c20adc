#include "steelyard/request/conditions.h"

#include <algorithm>

#include "steelyard/request/place.h"

namespace steelyard::request {
namespace {

bool implies(const ValueOptions& narrow, const ValueOptions& wide) {
  if (narrow == wide) return true;
  if (narrow.absent || wide.absent) return false;
  if (!wide.exact && !wide.prefix && !wide.regex) return true;  // be there
  if (!wide.prefix) return false;
  if (narrow.exact) return narrow.exact->starts_with(*wide.prefix);
  return narrow.prefix && narrow.prefix->starts_with(*wide.prefix);
}

bool same(std::string_view a, std::string_view b, bool fold) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return fold ? lower(x) == lower(y) : x == y; });
}

bool implies(const schema::Map<ValueOptions>& narrow, const schema::Map<ValueOptions>& wide,
             bool fold) {
  return std::all_of(wide.begin(), wide.end(), [&](const auto& one) {
    return std::any_of(narrow.begin(), narrow.end(), [&](const auto& other) {
      return same(one.first, other.first, fold) && implies(other.second, one.second);
    });
  });
}

bool methods_imply(const std::vector<std::string>& narrow, const std::vector<std::string>& wide) {
  if (wide.empty()) return true;
  return !narrow.empty() && std::all_of(narrow.begin(), narrow.end(), [&](const auto& method) {
    return std::find(wide.begin(), wide.end(), method) != wide.end();
  });
}

}  // namespace

std::size_t count_conditions(const MatchOptions& match) noexcept {
  return match.headers.size() + match.cookies.size() + match.query.size() +
         (match.methods.empty() ? 0 : 1) + (match.clients.empty() ? 0 : 1);
}

bool implies_but_clients(const MatchOptions& narrow, const MatchOptions& wide) {
  return methods_imply(narrow.methods, wide.methods) &&
         implies(narrow.headers, wide.headers, true) &&
         implies(narrow.cookies, wide.cookies, false) && implies(narrow.query, wide.query, false);
}

Conditions::Conditions(const MatchOptions& match, MakePattern make_pattern)
    : methods_(match.methods),
      headers_(values(match.headers, make_pattern)),
      cookies_(values(match.cookies, make_pattern)),
      query_(values(match.query, make_pattern)),
      wants_client_(!match.clients.empty()) {
  for (const auto& text : match.clients) {
    if (auto network = Network::parse(text)) clients_.push_back(*network);
  }
}

std::vector<Conditions::Value> Conditions::values(const schema::Map<ValueOptions>& from,
                                                  MakePattern make_pattern) {
  std::vector<Value> out;
  for (const auto& [name, option] : from) {
    Value value{name, Kind::kPresent, {}, nullptr};
    if (option.absent) value.kind = Kind::kAbsent;
    if (option.exact) value.kind = Kind::kExact, value.text = *option.exact;
    if (option.prefix) value.kind = Kind::kPrefix, value.text = *option.prefix;
    if (option.regex) {
      value.kind = Kind::kNever;
      if (make_pattern != nullptr) {
        if (auto made = make_pattern(*option.regex)) {
          value.kind = Kind::kRegex;
          value.pattern = std::move(*made);
        }
      }
    }
    out.push_back(std::move(value));
  }
  return out;
}

bool Conditions::holds(const Value& value, std::optional<std::string_view> found) noexcept {
  switch (value.kind) {
    case Kind::kPresent:
      return found.has_value();
    case Kind::kAbsent:
      return !found;
    case Kind::kExact:
      return found == value.text;
    case Kind::kPrefix:
      return found && found->starts_with(value.text);
    case Kind::kRegex:
      return found && value.pattern->matches(*found);
    case Kind::kNever:
      break;
  }
  return false;
}

bool Conditions::hold(std::string_view method, const Facts& facts) const noexcept {
  if (!methods_.empty() && std::find(methods_.begin(), methods_.end(), method) == methods_.end()) {
    return false;
  }
  for (const Value& value : headers_) {
    if (!holds(value, facts.header(value.name))) return false;
  }
  for (const Value& value : cookies_) {
    if (!holds(value, facts.cookie(value.name))) return false;
  }
  for (const Value& value : query_) {
    if (!holds(value, facts.query(value.name))) return false;
  }
  if (!wants_client_) return true;
  const auto client = facts.client();
  return std::any_of(clients_.begin(), clients_.end(),
                     [&](const Network& network) { return network.holds(client); });
}

}  // namespace steelyard::request
