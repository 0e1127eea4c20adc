// Conditions: what a route asks of a request besides host and path. All must hold; none always do.
//
// Immutable, made with the Router. Cost: a look-up a condition, until the first that fails.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/request/facts.h"
#include "steelyard/request/network.h"
#include "steelyard/request/options.h"

namespace steelyard::request {

class Conditions {
 public:
  // What cannot be compiled or parsed (the configuration refuses it) never matches.
  Conditions(const MatchOptions& match, MakePattern make_pattern);

  [[nodiscard]] bool hold(std::string_view method, const Facts& facts) const noexcept;

 private:
  enum class Kind : std::uint8_t { kPresent, kAbsent, kExact, kPrefix, kRegex, kNever };
  struct Value {
    std::string name;
    Kind kind = Kind::kPresent;
    std::string text;
    std::unique_ptr<const Pattern> pattern;
  };
  static std::vector<Value> values(const schema::Map<ValueOptions>& from, MakePattern make_pattern);
  static bool holds(const Value& value, std::optional<std::string_view> found) noexcept;

  std::vector<std::string> methods_;
  std::vector<Value> headers_;
  std::vector<Value> cookies_;
  std::vector<Value> query_;
  std::vector<Network> clients_;
  bool wants_client_ = false;
};

// How many conditions: the more, the earlier a route is looked at among those of its host and path.
[[nodiscard]] std::size_t count_conditions(const MatchOptions& match) noexcept;
// Every request that meets those of `narrow` meets those of `wide`, clients left out. False where
// that cannot be told (two regular expressions that differ).
[[nodiscard]] bool implies_but_clients(const MatchOptions& narrow, const MatchOptions& wide);

}  // namespace steelyard::request
