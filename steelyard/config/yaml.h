// YAML text → positioned tree, from libyaml's events.
//
// A small YAML: one document of mappings, lists and single values, in block or flow style, with
// comments and quotes. Refused, each with its place: anchors, aliases, tags, `<<`, further
// documents, keys that are not a single value, tabs that indent, more than kMaxDepth levels, more
// than kMaxSize bytes. A syntax error is told alone, with where the construct began, since what
// follows it means nothing. libyaml is wrapped in yaml.cc and nowhere else. Pure; no reading of
// files. Cost: linear; memory a small multiple of the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "steelyard/schema/problems.h"
#include "steelyard/schema/tree.h"

namespace steelyard::config {

inline constexpr std::size_t kMaxDepth = 32;
inline constexpr std::size_t kMaxKey = 1024;
inline constexpr std::size_t kMaxSize = std::size_t{1} << 20;

// Nothing when the text has no tree at all; problems says why. A tree may come with problems too.
[[nodiscard]] std::optional<schema::Node> parse_yaml(std::string_view text,
                                                     schema::Problems& problems);

}  // namespace steelyard::config
