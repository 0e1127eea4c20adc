// How a folder declares its options: an aggregate with member defaults and, beside it, a table of
// typed fields.
//
//   struct ScoreOptions {
//     std::string path = "/health/score";
//     base::Duration interval = std::chrono::seconds(10);
//     static constexpr auto fields() {
//       return std::tuple{
//           schema::field("path", &ScoreOptions::path, "Path of the score endpoint.",
//           schema::starts_with("/")), schema::field("interval", &ScoreOptions::interval, "Time
//           between two collections.",
//                         schema::between(std::chrono::seconds(1), std::chrono::hours(1)))};
//     }
//     void check(schema::Faults& faults) const;   // optional: what one field alone cannot say
//   };
//
// Parser, range check, JSON schema and manual read the table; nothing is declared twice and nothing
// is clamped. Member types: bool · integers · double (with ratio(): `50%` or 0.5) · base::Duration
// (`30s`, `1h30m`) · base::Bytes
// (`10MiB`, `1e3`) · std::string · base::Address · enums (see Name) · other option structs ·
// std::optional<T> (absent, or `off`: nothing) · std::vector<T> · Map<T> (name → T, in order) ·
// Choice (`name` or `{name: {options}}`). A struct with `static constexpr std::string_view
// kShorthand = "address";` may be written as that field's value alone. Cost: light to include; what
// reads the table is in describe.h and read.h, which only config and registries need.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "steelyard/schema/faults.h"
#include "steelyard/schema/form.h"

namespace steelyard::schema {

// --- what a field may be limited to
// -------------------------------------------------------------------------------------

template <typename L, typename H>
struct Between {
  L lo;
  H hi;
};
template <typename L>
struct AtLeast {
  L lo;
};
struct Ratio {
  double lo, hi;
};
template <std::size_t N>
struct OneOf {
  std::array<std::string_view, N> words;
};
struct StartsWith {
  std::string_view text;
};
struct NonEmpty {};
struct Required {};
struct Identifier {};
struct Spelled {
  Form form;
};
struct AnyAddress {};
struct UntilRestart {};
template <typename Entries>
struct ChoiceOf {
  Entries (*entries)();
};

// Numbers, durations, sizes: lo ≤ value ≤ hi, in the field's own type.
template <typename L, typename H>
[[nodiscard]] constexpr Between<L, H> between(L lo, H hi) {
  return {lo, hi};
}
template <typename L>
[[nodiscard]] constexpr AtLeast<L> at_least(L lo) {
  return {lo};
}
// double: a share of one, `0.5` or `50%`, between lo and hi.
[[nodiscard]] constexpr Ratio ratio(double lo = 0, double hi = 1) { return {lo, hi}; }
// std::string: one of these words. For more than a few words use an enum.
template <typename... Words>
[[nodiscard]] constexpr OneOf<sizeof...(Words)> one_of(Words... words) {
  return {{std::string_view(words)...}};
}
// std::string.
[[nodiscard]] constexpr StartsWith starts_with(std::string_view text) { return {text}; }
// std::string, std::vector, Map: not empty.
[[nodiscard]] constexpr NonEmpty non_empty() { return {}; }
// The key must be written; else its default stands.
[[nodiscard]] constexpr Required required() { return {}; }
// std::string, keys of a Map: [A-Za-z0-9][A-Za-z0-9._-]{0,62}.
[[nodiscard]] constexpr Identifier identifier() { return {}; }
// std::string, entries of a list of these, keys of a Map: spelled so that it can stand where it
// will (form.h); empty ones pass.
[[nodiscard]] constexpr Spelled spelled(Form form) { return {form}; }
// base::Address: also `:8080` and `*:8080` (every address) and port 0.
[[nodiscard]] constexpr AnyAddress any_address() { return {}; }
// Any: a change is noticed at the next start only; the manual says so.
[[nodiscard]] constexpr UntilRestart until_restart() { return {}; }
// Choice: the alternatives, given by a function that returns a span of entries with `name`,
// `summary` and, where an alternative has options, `schema::Describe options` (=
// &schema::describe<ItsOptions>, null for none).
template <typename Entries>
[[nodiscard]] constexpr ChoiceOf<Entries> choice_of(Entries (*entries)()) {
  return {entries};
}

// --- the field
// ----------------------------------------------------------------------------------------------------------

template <typename Owner, typename Member, typename... Limits>
struct Field {
  std::string_view name;
  Member Owner::* member;
  std::string_view help;  // one sentence or two, for manual and schema
  std::tuple<Limits...> limits;
};

template <typename Owner, typename Member, typename... Limits>
[[nodiscard]] constexpr Field<Owner, Member, Limits...> field(std::string_view name,
                                                              Member Owner::* member,
                                                              std::string_view help,
                                                              Limits... limits) {
  return {name, member, help, std::tuple<Limits...>(limits...)};
}

// The fields of a nested struct stand among those of its owner, without a key of their own. Such a
// struct has no `check`.
template <typename Owner, typename Member>
struct Splice {
  Member Owner::* member;
};
template <typename Owner, typename Member>
[[nodiscard]] constexpr Splice<Owner, Member> splice(Member Owner::* member) {
  return {member};
}

// --- member types of our own
// --------------------------------------------------------------------------------------------

// The words of an enum, found by argument-dependent look-up beside the enum:
//   constexpr auto schema_names(Mode) {
//     return std::array{schema::Name{"relative", Mode::kRelative}, schema::Name{"absolute",
//     Mode::kAbsolute}};
//   }
template <typename Enum>
struct Name {
  std::string_view text;
  Enum value;
};
template <typename Enum>
Name(const char*, Enum) -> Name<Enum>;

// name → T in the order of the file.
template <typename T>
struct Map {
  std::vector<std::pair<std::string, T>> entries;

  [[nodiscard]] const T* find(std::string_view name) const noexcept {
    for (const auto& entry : entries) {
      if (entry.first == name) return &entry.second;
    }
    return nullptr;
  }
  [[nodiscard]] auto begin() const noexcept { return entries.begin(); }
  [[nodiscard]] auto end() const noexcept { return entries.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries.empty(); }
};

struct Type;
using Describe = Type (*)();

// One alternative of a registry and its options.
struct Choice {
  std::string name;
  std::shared_ptr<const void> options;  // of the alternative's options type; null: its defaults

  // The options as T, the type that the alternative `name` declares; its defaults when none were
  // written.
  template <typename T>
  [[nodiscard]] T as() const {
    return options == nullptr ? T{} : *static_cast<const T*>(options.get());
  }
};

}  // namespace steelyard::schema
