// The one list of pickers. A new picker is its file pair, its test and one line (with its include)
// in registry.cc; the conformance suite, the benchmark, the configuration, its schema and the docs
// loop over this list.
//
// A Kind is an entry for schema::choice_of(&pick::kinds). A picker with options takes them as the
// second argument of its constructor.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "steelyard/pick/picker.h"
#include "steelyard/schema/field.h"

namespace steelyard::pick {

struct Kind {
  std::string_view name;     // as in the configuration: "least_connections"
  std::string_view summary;  // one sentence for manual and schema
  // A node's exact share is weight / sum of weights; when false it is 1/n of those in rotation.
  // Where Picker::share says otherwise, it is that.
  bool weighted = true;
  // How far a node's share of 1,000,000 picks (no load, all pickable) may be from its exact share,
  // absolute.
  double share_bound = 0;
  bool keyed = false;  // requests with one key (Input::key) go to one node
  schema::Describe options = nullptr;
  std::unique_ptr<const Picker> (*maker)(const model::TableUpstream& upstream,
                                         const schema::Choice& options) = nullptr;

  // `with`: options of this kind; its defaults when empty.
  [[nodiscard]] std::unique_ptr<const Picker> make(const model::TableUpstream& upstream,
                                                   const schema::Choice& with = {}) const {
    return maker(upstream, with);
  }
};

// A Kind for the picker class P, which is constructed from a TableUpstream.
template <typename P>
[[nodiscard]] constexpr Kind kind(std::string_view name, std::string_view summary,
                                  double share_bound, bool weighted = true) {
  return {name,
          summary,
          weighted,
          share_bound,
          false,
          nullptr,
          [](const model::TableUpstream& upstream, const schema::Choice&)
              -> std::unique_ptr<const Picker> { return std::make_unique<P>(upstream); }};
}
inline constexpr bool kUnweighted = false;

[[nodiscard]] std::span<const Kind> kinds() noexcept;
[[nodiscard]] const Kind* find(std::string_view name) noexcept;

// What an upstream picks by.
struct Chosen {
  Chosen(const Kind* which = nullptr, schema::Choice with = {})  // NOLINT: a Kind is one
      : kind(which), options(std::move(with)) {}
  const Kind* kind;
  schema::Choice options;  // empty: the kind's defaults
};
inline constexpr std::string_view kDefaultPicker = "least_connections";

}  // namespace steelyard::pick
