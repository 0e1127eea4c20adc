#include "steelyard/schema/read.h"

#include <algorithm>
#include <tuple>

#include "steelyard/schema/scalar.h"

namespace steelyard::schema {
namespace {

// A node of the tree on its way into a value, with the path that messages name.
struct Spot {
  const Node& node;
  std::string path;
};

void complain(const Spot& spot, std::string text, Problems& problems) {
  problems.error(spot.node.place, spot.path, std::move(text));
}

std::string_view shape(Kind kind) {
  switch (kind) {
    case Kind::kStruct:
    case Kind::kMap:
      return "a mapping";
    case Kind::kList:
      return "a list";
    default:
      return "a single value";
  }
}

// Whether `{}` says it all: nothing is required, and the defaults go together.
bool is_whole_by_default(const Type& type) {
  if (type.kind != Kind::kStruct || type.fields.empty()) return false;
  for (const auto& field : type.fields) {
    if (field.required) return false;
  }
  if (type.check == nullptr) return true;
  Faults faults;
  type.check(type.make().get(), faults);
  return faults.list.empty();
}

// Refuses what has the wrong shape. Lists and mappings that are empty must be written as [] and {}.
// `off`: that word would do too.
bool has_shape(const Spot& spot, const Type& type, Node::Kind wanted, Problems& problems,
               bool off = false) {
  if (spot.node.is_empty()) {
    std::string hint;
    if (type.kind == Kind::kStruct || type.kind == Kind::kMap)
      hint = " (for all defaults leave the key out or write {})";
    if (type.kind == Kind::kList) hint = " (write [] for an empty one)";
    complain(spot, "is empty, must be " + in_words(type) + hint, problems);
    return false;
  }
  if (spot.node.kind == wanted) return true;
  const bool brace = spot.node.kind == Node::Kind::kScalar || wanted == Node::Kind::kScalar;
  const bool defaults = spot.node.kind == Node::Kind::kScalar && is_whole_by_default(type);
  complain(spot,
           describe_value(spot.node) + ", must be " +
               (brace ? in_words(type) : std::string(shape(type.kind))) + (off ? " or off" : "") +
               (defaults ? " (for all defaults write {})" : ""),
           problems);
  return false;
}

template <typename N>
void store_in_range(const Spot& spot, const Type& type, void* into, base::Result<N> value,
                    Problems& problems) {
  if (!value) return complain(spot, value.error().text, problems);
  Scalar scalar;
  bool fits = true;
  if constexpr (std::is_same_v<N, double>) {
    fits = type.numbers.contains(*value);
    scalar = *value;
  } else if constexpr (std::is_same_v<N, base::Duration>) {
    fits = type.integers.contains(value->count());
    scalar = static_cast<std::int64_t>(value->count());
  } else if constexpr (std::is_same_v<N, base::Bytes>) {
    fits = type.integers.contains(static_cast<std::int64_t>(value->count));
    scalar = static_cast<std::int64_t>(value->count);
  } else {
    fits = type.integers.contains(*value);
    scalar = *value;
  }
  if (fits) return type.store(into, scalar);
  std::string text = "is " + spot.node.text + ", must be " + range_text(type);
  // 20 where a share is asked for: the most common slip.
  if (type.kind == Kind::kRatio && !spot.node.text.ends_with('%')) {
    const auto percent = parse_ratio(spot.node.text + "%");
    if (percent && type.numbers.contains(*percent))
      text += ", did you mean " + spot.node.text + "%?";
  }
  complain(spot, std::move(text), problems);
}

void read_string(const Spot& spot, const Type& type, void* into, Problems& problems) {
  const std::string& text = spot.node.text;
  if (text.find('\0') != std::string::npos)
    return complain(spot, "has a zero byte in it", problems);
  if (type.non_empty && text.empty()) return complain(spot, "must not be empty", problems);
  if (!type.words.empty() &&
      std::find(type.words.begin(), type.words.end(), text) == type.words.end()) {
    return complain(
        spot,
        describe_value(spot.node) + ", must be " + in_words(type) + suggestion(text, type.words),
        problems);
  }
  if (!text.starts_with(type.prefix)) {
    return complain(
        spot, describe_value(spot.node) + ", must start with \"" + std::string(type.prefix) + "\"",
        problems);
  }
  if (type.identifier && !is_identifier(text)) {
    return complain(spot,
                    describe_value(spot.node) +
                        ", must be 1 to 63 letters, digits, dots, dashes or underscores, a letter "
                        "or digit first",
                    problems);
  }
  if (!has_form(type.form, text)) {
    return complain(spot, describe_value(spot.node) + ", " + std::string(words_of(type.form)),
                    problems);
  }
  type.store(into, Scalar(text));
}

void read_address(const Spot& spot, const Type& type, void* into, Problems& problems) {
  auto address = base::Address::parse(spot.node.text, type.any_address);
  if (!address) return complain(spot, address.error().text, problems);
  type.store(into, Scalar(*address));
}

void read_enum(const Spot& spot, const Type& type, void* into, Problems& problems) {
  const auto at = std::find(type.words.begin(), type.words.end(), spot.node.text);
  if (at == type.words.end()) {
    const auto near = suggestion(spot.node.text, type.words);
    return complain(spot,
                    describe_value(spot.node) + ", must be " + in_words(type) +
                        (near.find('?') == near.npos ? "" : near),
                    problems);
  }
  type.store(into, Scalar(static_cast<std::int64_t>(at - type.words.begin())));
}

void read_scalar(const Spot& spot, const Type& type, void* into, Problems& problems) {
  if (!has_shape(spot, type, Node::Kind::kScalar, problems)) return;
  const std::string& text = spot.node.text;
  const bool unquoted_only =
      type.kind == Kind::kBool || type.kind == Kind::kInteger || type.kind == Kind::kNumber;
  if (spot.node.quoted && unquoted_only) {
    return complain(spot,
                    describe_value(spot.node) + ", must be " + in_words(type) + " without quotes",
                    problems);
  }
  switch (type.kind) {
    case Kind::kBool: {
      const auto value = parse_bool(text);
      if (!value) return complain(spot, value.error().text, problems);
      return type.store(into, Scalar(*value));
    }
    case Kind::kInteger:
      return store_in_range(spot, type, into, parse_integer(text), problems);
    case Kind::kNumber:
      return store_in_range(spot, type, into, parse_number(text), problems);
    case Kind::kRatio:
      return store_in_range(spot, type, into, parse_ratio(text), problems);
    case Kind::kDuration:
      return store_in_range(spot, type, into, parse_duration(text), problems);
    case Kind::kBytes:
      return store_in_range(spot, type, into, parse_bytes(text), problems);
    case Kind::kString:
      return read_string(spot, type, into, problems);
    case Kind::kAddress:
      return read_address(spot, type, into, problems);
    default:
      return read_enum(spot, type, into, problems);
  }
}

void report_unknown(const Entry& entry, const Type& type, std::string_view path,
                    Problems& problems) {
  problems.error(
      entry.key_place, path,
      "unknown key \"" + entry.key + "\"" + suggestion(entry.key, names_of(type.fields)));
}

bool holds_refused(const Node& node) {
  return node.refused || std::any_of(node.entries.begin(), node.entries.end(),
                                     [](const Entry& entry) { return holds_refused(entry.value); });
}

// Paths below the struct of the errors since there were `before`, and keys in `told`.
void run_check(const Spot& spot, const Type& type, const void* object,
               std::vector<std::string> told, std::size_t before, Problems& problems) {
  if (problems.errors() > Problems::kMost) return;  // none of them would be told
  Faults faults;
  faults.told = std::move(told);
  for (std::string_view path : problems.error_paths().subspan(before)) {
    path.remove_prefix(spot.path.size());
    if (path.starts_with('.')) path.remove_prefix(1);
    if (!path.empty()) faults.told.emplace_back(path);  // else of the struct: an unknown key
  }
  type.check(object, faults);
  for (auto& fault : faults.list) {
    const Node& at = fault.key.empty() ? spot.node : spot.node.deepest(fault.key);
    const auto path = fault.key.empty() ? spot.path : join_path(spot.path, fault.key);
    if (fault.warning) {
      problems.warn(at.place, path, std::move(fault.text));
    } else {
      problems.error(at.place, path, std::move(fault.text));
    }
  }
}

void read_struct(const Spot& spot, const Type& type, void* into, Problems& problems) {
  const auto before = problems.errors();
  std::vector<std::string> told;
  if (!type.shorthand.empty() && spot.node.kind == Node::Kind::kScalar && !spot.node.is_empty()) {
    for (const auto& field : type.fields) {
      if (field.name == type.shorthand)
        read_into(spot.node, field.type, field.at(into), spot.path, problems);
    }
    if (problems.errors() != before) told.emplace_back(type.shorthand);
  } else {
    if (!has_shape(spot, type, Node::Kind::kMapping, problems)) return;
    for (const auto& entry : spot.node.entries) {
      const auto field =
          std::find_if(type.fields.begin(), type.fields.end(),
                       [&](const FieldInfo& info) { return info.name == entry.key; });
      if (field == type.fields.end()) {
        report_unknown(entry, type, spot.path, problems);
      } else {
        if (holds_refused(entry.value)) told.push_back(entry.key);
        read_into(entry.value, field->type, field->at(into), join_path(spot.path, entry.key),
                  problems);
      }
    }
    for (const auto& field : type.fields) {
      if (!field.required || spot.node.find(field.name) != nullptr) continue;
      complain(spot, "has no \"" + std::string(field.name) + "\", which is required", problems);
      told.emplace_back(field.name);
    }
  }
  if (type.check != nullptr) run_check(spot, type, into, std::move(told), before, problems);
}

void read_list(const Spot& spot, const Type& type, void* into, Problems& problems) {
  if (!has_shape(spot, type, Node::Kind::kList, problems)) return;
  if (type.non_empty && spot.node.entries.empty())
    return complain(spot, "must not be empty", problems);
  type.clear(into);
  for (std::size_t i = 0; i < spot.node.entries.size(); ++i) {
    read_into(spot.node.entries[i].value, type.element.front(), type.append(into, {}),
              join_index(spot.path, i), problems);
  }
}

void read_map(const Spot& spot, const Type& type, void* into, Problems& problems) {
  if (!has_shape(spot, type, Node::Kind::kMapping, problems)) return;
  if (type.non_empty && spot.node.entries.empty())
    return complain(spot, "must not be empty", problems);
  type.clear(into);
  for (const auto& entry : spot.node.entries) {
    if (type.identifier && !is_identifier(entry.key)) {
      problems.error(entry.key_place, spot.path,
                     "the name \"" + entry.key +
                         "\" must be 1 to 63 letters, digits, dots, dashes or underscores, a "
                         "letter or digit first");
    } else if (entry.key.empty() && type.form != Form::kAny) {
      problems.error(entry.key_place, spot.path, "has an empty name");
    } else if (!has_form(type.form, entry.key)) {
      problems.error(entry.key_place, spot.path,
                     "the name \"" + entry.key + "\" " + std::string(words_of(type.form)));
    }
    read_into(entry.value, type.element.front(), type.append(into, entry.key),
              join_path(spot.path, entry.key), problems);
  }
}

void read_choice(const Spot& spot, const Type& type, Choice& into, Problems& problems) {
  const Node& node = spot.node;
  const bool bare = node.kind == Node::Kind::kScalar && !node.is_empty();
  if (!bare && !(node.kind == Node::Kind::kMapping && node.entries.size() == 1)) {
    return complain(
        spot,
        describe_value(node) + ", must be a name or {name: {options}}, with " + in_words(type),
        problems);
  }
  const std::string& name = bare ? node.text : node.entries.front().key;
  const auto found =
      std::find_if(type.alternatives.begin(), type.alternatives.end(),
                   [&](const Alternative& alternative) { return alternative.name == name; });
  if (found == type.alternatives.end()) {
    problems.error(bare ? node.place : node.entries.front().key_place, spot.path,
                   "unknown name \"" + name + "\"" + suggestion(name, names_of(type.alternatives)));
    return;
  }
  into.name = name;
  into.options.reset();
  if (bare) return;
  const Spot inner{node.entries.front().value, join_path(spot.path, name)};
  if (found->options == nullptr) {
    if (inner.node.kind == Node::Kind::kMapping && inner.node.entries.empty()) return;
    return complain(
        inner,
        describe_value(inner.node) + ", but " + name + " has no options: write the name alone",
        problems);
  }
  const Type options = found->options();
  auto object = options.make();
  read_into(inner.node, options, object.get(), inner.path, problems);
  into.options = std::move(object);
}

void read_optional(const Spot& spot, const Type& type, void* into, Problems& problems) {
  const auto kind = type.element.front().kind;
  const bool word = spot.node.kind == Node::Kind::kScalar && !spot.node.quoted;
  if (word && spot.node.text == "off" && kind != Kind::kString && kind != Kind::kBool)
    return type.clear(into);
  const Type& element = type.element.front();
  void* const value = type.append(into, {});
  if (spot.node.kind == Node::Kind::kScalar && kind == Kind::kStruct && element.shorthand.empty() &&
      !has_shape(spot, element, Node::Kind::kMapping, problems, true)) {
    return;
  }
  read_into(spot.node, element, value, spot.path, problems);
}

}  // namespace

void read_into(const Node& node, const Type& type, void* into, std::string_view path,
               Problems& problems) {
  if (node.refused) return;
  const Spot spot{node, std::string(path)};
  switch (type.kind) {
    case Kind::kStruct:
      return read_struct(spot, type, into, problems);
    case Kind::kList:
      return read_list(spot, type, into, problems);
    case Kind::kMap:
      return read_map(spot, type, into, problems);
    case Kind::kChoice:
      return read_choice(spot, type, *static_cast<Choice*>(into), problems);
    case Kind::kOptional:
      return read_optional(spot, type, into, problems);
    default:
      return read_scalar(spot, type, into, problems);
  }
}

void report_duplicates(const Node& node, std::string_view path, Problems& problems) {
  std::vector<const Entry*> sorted;
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const Entry& entry = node.entries[i];
    const bool list = node.kind == Node::Kind::kList;
    report_duplicates(entry.value, list ? join_index(path, i) : join_path(path, entry.key),
                      problems);
    if (!list) sorted.push_back(&entry);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) {
    return std::tie(a->key, a->key_place) < std::tie(b->key, b->key_place);
  });
  const Entry* first = nullptr;
  for (const Entry* entry : sorted) {
    if (first == nullptr || first->key != entry->key) {
      first = entry;
      continue;
    }
    problems.error(entry->key_place, path,
                   "duplicate key \"" + entry->key + "\", first at " +
                       std::to_string(first->key_place.line) + ":" +
                       std::to_string(first->key_place.column));
  }
}

}  // namespace steelyard::schema
