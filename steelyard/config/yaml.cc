#include "steelyard/config/yaml.h"

#include <array>
#include <string>
#include <utility>
#include <yaml.h>

namespace steelyard::config {
namespace {

using schema::Node;
using schema::Place;
using schema::Problems;

Place place_of(const yaml_mark_t& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

std::string at_text(Place place) {
  return std::to_string(place.line) + ":" + std::to_string(place.column);
}

// Line and column of a byte, columns in characters.
Place place_at(std::string_view text, std::size_t offset) {
  Place place;
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) {
      ++place.column;
    }
  }
  return place;
}

std::string_view line_of(std::string_view text, std::uint32_t line) {
  std::size_t from = 0;
  for (std::uint32_t i = 1; i < line; ++i) {
    const auto end = text.find('\n', from);
    if (end == text.npos) return {};
    from = end + 1;
  }
  return text.substr(from, text.find('\n', from) - from);
}

// The tab in the indentation of a line, if there is one.
std::optional<Place> indenting_tab(std::string_view text, std::uint32_t line) {
  const auto row = line_of(text, line);
  const auto first = row.find_first_not_of(" \t");
  const auto tab = row.substr(0, first).find('\t');
  if (tab == row.npos || first == row.npos) return std::nullopt;
  return Place{line, static_cast<std::uint32_t>(tab + 1)};
}

// What most often lies behind a message of the parser.
struct Hint {
  std::string_view message, words;
};
constexpr std::array kHints{
    Hint{"mapping values are not allowed in this context",
         "a second colon in one value wants quotes, a key below another wants its own line"},
    Hint{"could not find expected ':'",
         "a key without a colon, or a text of several lines without quotes"},
    Hint{"did not find expected key", "a line that is indented unlike its neighbours"},
    Hint{"did not find expected '-' indicator", "a line that is indented unlike its neighbours"},
    Hint{"found character that cannot start any token",
         "a text that starts with this character wants quotes"},
};

class Builder {
 public:
  Builder(std::string_view text, Problems& problems) : text_(text), problems_(problems) {
    ready_ = yaml_parser_initialize(&parser_) == 1;
    if (!ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Builder() {
    drop();
    if (ready_) yaml_parser_delete(&parser_);
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  std::optional<Node> document() {
    if (!ready_) return nothing({}, "there is no memory to read the configuration");
    if (!next()) return std::nullopt;  // stream start
    if (!next()) return std::nullopt;
    if (event_.type == YAML_STREAM_END_EVENT)
      return nothing({}, "is empty, a configuration has at least listeners and upstreams");
    if (!next()) return std::nullopt;
    Node root;
    if (!value(root, "", 1)) return std::nullopt;
    if (!next()) return std::nullopt;  // document end
    if (!next()) return std::nullopt;
    if (event_.type == YAML_DOCUMENT_START_EVENT) {
      problems_.error(start(), "",
                      "a second document begins here, a configuration is one document");
    }
    return root;
  }

 private:
  std::nullopt_t nothing(Place place, std::string text) {
    problems_.error(place, "", std::move(text));
    return std::nullopt;
  }
  void drop() {
    if (held_) yaml_event_delete(&event_);
    held_ = false;
  }
  bool next() {
    drop();
    held_ = yaml_parser_parse(&parser_, &event_) == 1;
    if (!held_) syntax_error();
    return held_;
  }
  [[nodiscard]] Place start() const { return place_of(event_.start_mark); }

  void syntax_error() {
    const std::string problem = parser_.problem == nullptr ? "cannot be read" : parser_.problem;
    if (parser_.error == YAML_READER_ERROR) {
      return problems_.error(place_at(text_, parser_.problem_offset), "",
                             "not UTF-8 text: " + problem);
    }
    const Place place = place_of(parser_.problem_mark);
    if (const auto tab = indenting_tab(text_, place.line)) {
      return problems_.error(*tab, "",
                             "a tab stands in the indentation, YAML takes only spaces there");
    }
    std::string text = "syntax error: " + problem;
    if (parser_.context != nullptr && *parser_.context != '\0') {
      text.append(" (").append(parser_.context).append(" that began at ");
      text.append(at_text(place_of(parser_.context_mark))).append(")");
    }
    for (const auto& hint : kHints) {
      if (problem == hint.message) text.append(": ").append(hint.words);
    }
    problems_.error(place, "", std::move(text));
  }

  void refuse(std::string_view path, std::string text) {
    problems_.error(start(), path, std::move(text));
  }

  void refuse_properties(const yaml_char_t* anchor, const yaml_char_t* tag, std::string_view path,
                         Node& node) {
    if (anchor != nullptr) refuse(path, "anchors (&) are not taken, write the value out");
    if (tag == nullptr) return;
    refuse(path, "tags (!) are not taken, the key says what the value is");
    node.refused = true;
  }

  // The value whose first event is current.
  bool value(Node& node, const std::string& path, std::size_t depth) {
    node.place = start();
    if (depth > kMaxDepth) {
      refuse("", "is nested more than " + std::to_string(kMaxDepth) + " levels deep");
      return false;
    }
    switch (event_.type) {
      case YAML_SCALAR_EVENT:
        scalar(node, path);
        return true;
      case YAML_ALIAS_EVENT:
        node.kind = Node::Kind::kScalar;
        node.refused = true;
        refuse(path, "aliases (*) are not taken, write the value out");
        return true;
      case YAML_SEQUENCE_START_EVENT:
        refuse_properties(event_.data.sequence_start.anchor, event_.data.sequence_start.tag, path,
                          node);
        return list(node, path, depth);
      default:
        refuse_properties(event_.data.mapping_start.anchor, event_.data.mapping_start.tag, path,
                          node);
        return mapping(node, path, depth);
    }
  }

  void scalar(Node& node, std::string_view path) {
    const auto& data = event_.data.scalar;
    refuse_properties(data.anchor, data.tag, path, node);
    node.kind = Node::Kind::kScalar;
    node.text.assign(reinterpret_cast<const char*>(data.value), data.length);
    node.quoted = data.style != YAML_PLAIN_SCALAR_STYLE;
  }

  bool list(Node& node, const std::string& path, std::size_t depth) {
    node.kind = Node::Kind::kList;
    while (true) {
      if (!next()) return false;
      if (event_.type == YAML_SEQUENCE_END_EVENT) return true;
      auto& entry = node.entries.emplace_back();
      if (!value(entry.value, schema::join_index(path, node.entries.size() - 1), depth + 1))
        return false;
    }
  }

  bool mapping(Node& node, const std::string& path, std::size_t depth) {
    node.kind = Node::Kind::kMapping;
    while (true) {
      if (!next()) return false;
      if (event_.type == YAML_MAPPING_END_EVENT) {
        node.index();
        return true;
      }
      schema::Entry entry;
      entry.key_place = start();
      const bool merge = event_.type == YAML_SCALAR_EVENT && is_merge();
      Node key;
      if (!value(key, path, depth + 1)) return false;
      if (merge)
        problems_.error(entry.key_place, path, "merge keys (<<) are not taken, write the keys out");
      const bool single = key.kind == Node::Kind::kScalar;
      if (!single)
        problems_.error(entry.key_place, path,
                        "a key must be a single text, not a list or a mapping");
      entry.key = key.text;
      // Paths in messages are made of keys: without a bound they would be as large as the text.
      if (entry.key.size() > kMaxKey) {
        nothing(entry.key_place, "a key has " + std::to_string(entry.key.size()) +
                                     " bytes, may have " + std::to_string(kMaxKey));
        return false;
      }
      if (!next()) return false;
      if (!value(entry.value, schema::join_path(path, entry.key), depth + 1)) return false;
      if (single && !key.refused && !merge) {
        node.entries.push_back(std::move(entry));
      } else {
        node.refused = true;  // what is missing in it says nothing
      }
    }
  }

  [[nodiscard]] bool is_merge() const {
    const auto& data = event_.data.scalar;
    return data.style == YAML_PLAIN_SCALAR_STYLE &&
           std::string_view(reinterpret_cast<const char*>(data.value), data.length) == "<<";
  }

  std::string_view text_;
  Problems& problems_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  bool ready_ = false;
  bool held_ = false;
};

}  // namespace

std::optional<Node> parse_yaml(std::string_view text, Problems& problems) {
  if (text.size() > kMaxSize) {
    problems.error({}, "", "is larger than 1 MiB, which is the most a configuration may have");
    return std::nullopt;
  }
  return Builder(text, problems).document();
}

}  // namespace steelyard::config
