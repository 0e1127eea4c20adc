#include "steelyard/schema/tree.h"

#include <charconv>

namespace steelyard::schema {
namespace {

// Longest text of a value that a message repeats.
constexpr std::size_t kShown = 60;

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += '?';
    } else {
      out += c;
    }
  }
  if (text.size() > kShown) {
    while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0U) == 0x80U)
      out.pop_back();
    out += "…";
  }
  return out;
}

// The entry that the front of `path` names; `rest` is what follows it, without a dot.
const Entry* step(const Node& node, std::string_view path, std::string_view& rest) {
  const Entry* best = nullptr;
  std::size_t length = 0;
  if (node.kind == Node::Kind::kList) {
    if (!path.starts_with('[')) return nullptr;
    std::size_t at = 0;
    const auto [end, failed] = std::from_chars(path.data() + 1, path.data() + path.size(), at);
    length = static_cast<std::size_t>(end - path.data()) + 1;
    if (failed != std::errc{} || at >= node.entries.size() || length > path.size()) return nullptr;
    best = &node.entries[at];
  } else {
    for (const auto& entry : node.entries) {  // the longest key that fits: keys may have dots
      const auto size = entry.key.size();
      if (!path.starts_with(entry.key) || (best != nullptr && size <= length)) continue;
      if (size < path.size() && path[size] != '.' && path[size] != '[') continue;
      best = &entry;
      length = size;
    }
    if (best == nullptr) return nullptr;
  }
  rest = path.substr(length);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return best;
}

}  // namespace

bool Node::is_empty() const noexcept {
  return kind == Kind::kScalar && !quoted &&
         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
}

const Node* Node::find(std::string_view key) const noexcept {
  if (kind != Kind::kMapping) return nullptr;
  for (const auto& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

const Node* Node::at(std::string_view path) const noexcept {
  const Node* node = this;
  while (!path.empty()) {
    const Entry* entry = step(*node, path, path);
    if (entry == nullptr) return nullptr;
    node = &entry->value;
  }
  return node;
}

const Node& Node::deepest(std::string_view path) const noexcept {
  const Node* node = this;
  while (!path.empty()) {
    const Entry* entry = step(*node, path, path);
    if (entry == nullptr) break;
    node = &entry->value;
  }
  return *node;
}

std::string describe_value(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kList:
      return "is a list";
    case Node::Kind::kMapping:
      return "is a mapping";
    case Node::Kind::kScalar:
      break;
  }
  if (node.is_empty()) return "is empty";
  if (node.quoted) return "is the text \"" + shown(node.text) + "\"";
  return "is \"" + shown(node.text) + "\"";
}

std::string join_path(std::string_view parent, std::string_view key) {
  std::string out(parent);
  if (!out.empty()) out += '.';
  return out.append(key);
}

bool is_within(std::string_view path, std::string_view parent) noexcept {
  if (!path.starts_with(parent)) return false;
  return parent.empty() || path.size() == parent.size() || path[parent.size()] == '.' ||
         path[parent.size()] == '[';
}

std::string join_index(std::string_view parent, std::size_t at) {
  return std::string(parent).append("[").append(std::to_string(at)).append("]");
}

}  // namespace steelyard::schema
