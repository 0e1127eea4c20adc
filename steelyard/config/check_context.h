// What the checks of a Document work with: the Document, its tree for places, and where to report.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "steelyard/config/document.h"
#include "steelyard/schema/problems.h"
#include "steelyard/schema/tree.h"

namespace steelyard::config {

inline std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// What all regular expressions of a configuration may compile to together. Each is compiled for the
// check and for every worker again, at some microseconds an instruction. A usual one has 10 to 100.
inline constexpr std::size_t kMaxInstructions = 200'000;

// The document with its tree: reports at the place of a path.
struct Context {
  Context(const Document& of, const schema::Node& written_as, schema::Problems& into)
      : document(of), tree(written_as), problems(into) {
    for (const auto& [name, upstream] : of.upstreams) upstreams.emplace(name, &upstream);
  }

  const Document& document;
  const schema::Node& tree;
  schema::Problems& problems;
  std::unordered_map<std::string_view, const UpstreamOptions*> upstreams;
  mutable std::size_t instructions = 0;  // of the regular expressions so far

  [[nodiscard]] const UpstreamOptions* upstream(std::string_view name) const {
    const auto at = upstreams.find(name);
    return at == upstreams.end() ? nullptr : at->second;
  }

  void error(const std::string& path, std::string text) const {
    problems.error(tree.deepest(path).place, path, std::move(text));
  }
  void warn(const std::string& path, std::string text) const {
    problems.warn(tree.deepest(path).place, path, std::move(text));
  }
  [[nodiscard]] bool written(const std::string& path) const { return tree.at(path) != nullptr; }
  // Written, and nothing of it was left out as refused.
  [[nodiscard]] bool complete(const std::string& path) const {
    const schema::Node* node = tree.at(path);
    return node != nullptr && !node->refused;
  }
  // No error so far at or below a path: only then does a follow-up say something new.
  [[nodiscard]] bool clean(std::string_view path) const {
    if (problems.errors() > schema::Problems::kMost) return false;  // where is not known of all
    const auto errors = problems.error_paths();
    return std::none_of(errors.begin(), errors.end(),
                        [&](const std::string& error) { return schema::is_within(error, path); });
  }
  [[nodiscard]] std::string where(const std::string& path) const {
    const auto place = tree.deepest(path).place;
    return std::to_string(place.line) + ":" + std::to_string(place.column);
  }
};

}  // namespace steelyard::config
