// Type: a field table as data. describe.h makes it from an options struct; reading, JSON schema and
// manual walk it.
//
// One tree of Types for one options struct, made when needed (a load, a generated file) and thrown
// away; nothing is kept in globals. Access to the described object goes through the functions
// below, each of which takes a pointer to an object of exactly the described type.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/schema/field.h"

namespace steelyard::schema {

enum class Kind : std::uint8_t {
  kBool,
  kInteger,   // int64 on its way, whatever the member
  kNumber,    // double
  kRatio,     // double, `50%`
  kDuration,  // int64 nanoseconds
  kBytes,     // int64 bytes
  kString,
  kAddress,
  kEnum,  // int64: index into words
  kChoice,
  kStruct,
  kList,
  kMap,
  kOptional,
};

using Scalar = std::variant<bool, std::int64_t, double, std::string, base::Address>;

// Bounds of integers, durations (ns) and sizes as int64; of numbers and ratios as double.
template <typename N>
struct Range {
  N lo = std::numeric_limits<N>::lowest();
  N hi = std::numeric_limits<N>::max();
  [[nodiscard]] bool has_lo() const noexcept { return lo != std::numeric_limits<N>::lowest(); }
  [[nodiscard]] bool has_hi() const noexcept { return hi != std::numeric_limits<N>::max(); }
  [[nodiscard]] bool contains(N value) const noexcept { return lo <= value && value <= hi; }
};

struct FieldInfo;

struct Alternative {
  std::string_view name;
  std::string_view summary;
  Describe options = nullptr;  // null: it has none
};

struct Type {
  Kind kind = Kind::kStruct;

  // Scalars.
  Range<std::int64_t> integers;
  Range<double> numbers;
  std::vector<std::string_view> words;  // an enum's, or a string's one_of
  std::string_view prefix;              // a string's starts_with
  bool non_empty = false;               // strings, lists, maps
  bool identifier = false;              // strings, keys of maps
  Form form = Form::kAny;               // the same
  bool any_address = false;
  void (*store)(void* to, const Scalar& value) = nullptr;
  Scalar (*load)(const void* from) = nullptr;

  // Choices.
  std::vector<Alternative> alternatives;

  // Structs.
  std::vector<FieldInfo> fields;
  std::string_view shorthand;
  std::shared_ptr<void> (*make)() = nullptr;
  void (*check)(const void* from, Faults& faults) = nullptr;  // null: it has none

  // Lists, maps and optionals hold elements: `append` gives a pointer to a new one, `item` to one
  // that is there.
  std::vector<Type> element;  // exactly one
  void* (*append)(void* to, std::string_view key) = nullptr;
  void (*clear)(void* to) = nullptr;
  std::size_t (*size)(const void* from) = nullptr;
  const void* (*item)(const void* from, std::size_t at, std::string_view* key) = nullptr;
};

struct FieldInfo {
  std::string_view name;
  std::string_view help;
  Type type;
  bool required = false;
  bool until_restart = false;
  std::function<void*(void* owner)> at;
};

// The names, in order, for messages.
[[nodiscard]] std::vector<std::string_view> names_of(const std::vector<Alternative>& alternatives);
[[nodiscard]] std::vector<std::string_view> names_of(const std::vector<FieldInfo>& fields);
// A value as it would be written in the configuration: "1m30s", "20%", "[nginx, -t]", "off", "{}"
// for a struct.
[[nodiscard]] std::string to_text(const Type& type, const void* value);
// What may be written, in words: "a duration (1s to 1h)", "one of relative, absolute".
[[nodiscard]] std::string in_words(const Type& type);
// The limits alone: "1s to 1h", "at least 0"; empty without any.
[[nodiscard]] std::string range_text(const Type& type);

}  // namespace steelyard::schema
