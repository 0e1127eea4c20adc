// The positioned tree: a document as written, with the line and column of every key and value.
//
// Made by config from YAML events, read by the field tables. It holds text, not values: whether
// `on` is true depends on what a field declares. `quoted` tells `"on"` from `on`. Lines and columns
// count from 1, columns in characters. A plain value; children are owned. Run-time code never sees
// it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard::schema {

struct Place {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  friend auto operator<=>(const Place&, const Place&) = default;
};

struct Entry;

struct Node {
  enum class Kind : std::uint8_t { kScalar, kList, kMapping };
  Kind kind = Kind::kMapping;
  Place place;
  std::string text;            // of a scalar
  bool quoted = false;         // of a scalar
  bool refused = false;        // told already (an alias, a tag): nothing more is said about it
  std::vector<Entry> entries;  // of a mapping or a list (then without keys)
  // Of a large mapping, by `index`: its entries in the order of their keys. Empty: looked through.
  std::vector<std::uint32_t> by_key;

  // To be called once the entries stand: makes a look-up by key logarithmic.
  void index();

  // Nothing was written: `key:`, `key: ~`, `key: null`.
  [[nodiscard]] bool is_empty() const noexcept;
  // The value of a key, or null. With a key that stands twice: the first.
  [[nodiscard]] const Node* find(std::string_view key) const noexcept;
  // The value at a path as it stands in messages, "upstreams.api.nodes[2].address", or null. Keys
  // with dots are found too.
  [[nodiscard]] const Node* at(std::string_view path) const noexcept;
  // The same, but gives the deepest node there is on the way, so that a message about a default
  // points at the struct that lacks it.
  [[nodiscard]] const Node& deepest(std::string_view path) const noexcept;
};

struct Entry {
  std::string key;
  Place key_place;
  Node value;
};

// "is a list", "is a mapping", "is empty", "is "abc"": how messages speak of a value.
[[nodiscard]] std::string describe_value(const Node& node);

// "a.b" from "a" and "b"; "b" at the root.
[[nodiscard]] std::string join_path(std::string_view parent, std::string_view key);
// "a.b", "a[2]" and "a" itself are within "a"; "ab" is not.
[[nodiscard]] bool is_within(std::string_view path, std::string_view parent) noexcept;
// "a[2]".
[[nodiscard]] std::string join_index(std::string_view parent, std::size_t at);

}  // namespace steelyard::schema
