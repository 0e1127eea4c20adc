// Trees for tests, without YAML: places count up in the order in which things stand.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "steelyard/schema/tree.h"

namespace steelyard::schema {

inline Node plain(std::string text) {
  Node out;
  out.kind = Node::Kind::kScalar;
  out.text = std::move(text);
  return out;
}

inline Node quoted(std::string text) {
  Node out = plain(std::move(text));
  out.quoted = true;
  return out;
}

inline Node list(std::initializer_list<Node> items) {
  Node out;
  out.kind = Node::Kind::kList;
  for (const auto& item : items) out.entries.push_back({.key = {}, .key_place = {}, .value = item});
  return out;
}

inline Node mapping(std::initializer_list<std::pair<std::string, Node>> items) {
  Node out;
  for (const auto& item : items)
    out.entries.push_back({.key = item.first, .key_place = {}, .value = item.second});
  return out;
}

// Line n is the n-th key or list item; column 1 for a key, 5 for a value. The root stands at 1:1.
inline void put_in_place(Node& node, std::uint32_t& line) {
  for (auto& entry : node.entries) {
    entry.key_place = {line, 1};
    entry.value.place = {line, 5};
    ++line;
    put_in_place(entry.value, line);
  }
}
inline Node placed(Node root) {
  std::uint32_t line = 1;
  put_in_place(root, line);
  return root;
}

}  // namespace steelyard::schema
