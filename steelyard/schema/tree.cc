#include "steelyard/schema/tree.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace steelyard::schema {
namespace {

// Longest text of a value that a message repeats.
constexpr std::size_t kShown = 60;

bool goes_on(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

std::string shown(std::string_view text) {
  std::string out;
  std::size_t size = std::min(text.size(), kShown);
  while (size < text.size() && size + 3 > kShown && goes_on(text[size]))
    --size;  // whole characters
  for (const char c : text.substr(0, size)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += '?';
    } else {
      out += c;
    }
  }
  if (size < text.size()) out += "…";
  return out;
}

constexpr std::size_t kFewEntries = 16;  // a walk is as fast

// The first entry with this key of an indexed mapping.
const Entry* look_up(const Node& node, std::string_view key) noexcept {
  const auto at = std::lower_bound(
      node.by_key.begin(), node.by_key.end(), key,
      [&](std::uint32_t i, std::string_view wanted) { return node.entries[i].key < wanted; });
  if (at == node.by_key.end() || node.entries[*at].key != key) return nullptr;
  return &node.entries[*at];
}

// The longest key that fits: keys may have dots.
const Entry* longest(const Node& node, std::string_view path) noexcept {
  for (auto size = path.size();; size = path.find_last_of(".[", size - 1)) {
    if (size == std::string_view::npos) return nullptr;
    if (const auto* const found = look_up(node, path.substr(0, size))) return found;
    if (size == 0) return nullptr;
  }
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
  } else if (!node.by_key.empty()) {
    best = longest(node, path);
    if (best == nullptr) return nullptr;
    length = best->key.size();
  } else {
    for (const auto& entry : node.entries) {  // as `longest`
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

void Node::index() {
  if (kind != Kind::kMapping || entries.size() <= kFewEntries) return;
  by_key.resize(entries.size());
  std::iota(by_key.begin(), by_key.end(), 0U);
  std::stable_sort(by_key.begin(), by_key.end(),
                   [&](auto a, auto b) { return entries[a].key < entries[b].key; });
}

bool Node::is_empty() const noexcept {
  return kind == Kind::kScalar && !quoted &&
         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
}

const Node* Node::find(std::string_view key) const noexcept {
  if (kind != Kind::kMapping) return nullptr;
  if (!by_key.empty()) {
    const Entry* const found = look_up(*this, key);
    return found == nullptr ? nullptr : &found->value;
  }
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
