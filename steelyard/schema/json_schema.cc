#include <array>
#include <string>

#include "steelyard/schema/generate.h"
#include "steelyard/schema/scalar.h"

namespace steelyard::schema {
namespace {

constexpr std::string_view kIdentifier = "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$";
constexpr std::string_view kDuration = "^(0|([0-9]+(\\.[0-9]+)?(d|h|m|s|ms|us|ns))+)$";
constexpr std::string_view kBytes =
    "^[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?(B|kB|KiB|MB|MiB|GB|GiB|TB|TiB)?$";
constexpr std::string_view kRatio = "^-?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?%?$";

// Writes indented JSON, one member a line.
class Json {
 public:
  void open(char bracket) {
    separate();
    out_ += bracket;
    first_ = true;
    ++depth_;
  }
  void close(char bracket) {
    --depth_;
    if (!first_) line();
    out_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    separate();
    quote(name);
    out_ += ": ";
    after_key_ = true;
  }
  void raw(std::string_view text) {
    separate();
    out_ += text;
  }
  void string(std::string_view text) {
    separate();
    quote(text);
  }
  void member(std::string_view name, std::string_view text) {
    key(name);
    string(text);
  }
  void member_raw(std::string_view name, std::string_view text) {
    key(name);
    raw(text);
  }
  [[nodiscard]] std::string take() && { return std::move(out_) + "\n"; }

 private:
  void line() { out_.append("\n").append(static_cast<std::size_t>(depth_) * 2, ' '); }
  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (depth_ == 0) return;
    if (!first_) out_ += ',';
    first_ = false;
    line();
  }
  void quote(std::string_view text) {
    out_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') out_ += '\\';
      if (c == '\n') {
        out_ += "\\n";
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }

  std::string out_;
  int depth_ = 0;
  bool first_ = true;
  bool after_key_ = false;
};

void write_body(Json& json, const Type& type);

void write_object(Json& json, const Type& type) {
  json.open('{');
  write_body(json, type);
  json.close('}');
}

void string_array(Json& json, std::string_view key, const std::vector<std::string_view>& words) {
  json.key(key);
  json.open('[');
  for (const auto word : words) json.string(word);
  json.close(']');
}

void pattern_only(Json& json, std::string_view pattern) {
  json.open('{');
  json.member("type", "string");
  json.member("pattern", pattern);
  json.close('}');
}

template <typename N, typename Show>
void write_range(Json& json, const Range<N>& range, Show show) {
  if (range.has_lo()) json.member_raw("minimum", show(range.lo));
  if (range.has_hi()) json.member_raw("maximum", show(range.hi));
}

std::string escaped(std::string_view text) {
  std::string out = "^";
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// A plain `5` or `true` is a text where a text is declared, so the schema lets it pass.
void write_string(Json& json, const Type& type) {
  if (!type.words.empty()) return string_array(json, "enum", type.words);
  string_array(json, "type", {"string", "number", "boolean"});
  if (type.identifier) json.member("pattern", kIdentifier);
  if (!type.prefix.empty()) {
    json.member("pattern", escaped(type.prefix));
  } else if (const auto pattern = pattern_of(type.form); !pattern.empty()) {
    json.member("pattern", pattern);
  }
  if (type.non_empty) json.member_raw("minLength", "1");
}

void write_number_or_pattern(Json& json, const Type& type) {
  const auto whole = [](std::int64_t value) { return std::to_string(value); };
  json.key("anyOf");
  json.open('[');
  json.open('{');
  if (type.kind == Kind::kRatio) {
    json.member("type", "number");
    write_range(json, type.numbers, number_text);
  } else if (type.kind == Kind::kBytes) {
    json.member("type", "integer");
    write_range(json, type.integers, whole);
  } else {
    json.member_raw("const", "0");
  }
  json.close('}');
  pattern_only(json, type.kind == Kind::kRatio   ? kRatio
                     : type.kind == Kind::kBytes ? kBytes
                                                 : kDuration);
  json.close(']');
}

void write_choice(Json& json, const Type& type) {
  json.key("anyOf");
  json.open('[');
  json.open('{');
  string_array(json, "enum", names_of(type.alternatives));
  json.close('}');
  json.open('{');
  json.member("type", "object");
  json.key("properties");
  json.open('{');
  for (const auto& alternative : type.alternatives) {
    json.key(alternative.name);
    json.open('{');
    json.member("description", alternative.summary);
    if (alternative.options == nullptr) {
      json.member("type", "object");
      json.member_raw("maxProperties", "0");
    } else {
      write_body(json, alternative.options());
    }
    json.close('}');
  }
  json.close('}');
  json.member_raw("additionalProperties", "false");
  json.member_raw("minProperties", "1");
  json.member_raw("maxProperties", "1");
  json.close('}');
  json.close(']');
}

// Writes a default where one can be said in a line; structs, maps and choices have theirs inside.
bool has_plain_default(const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::kStruct:
    case Kind::kMap:
    case Kind::kChoice:
      return false;
    case Kind::kOptional:
      return type.size(value) != 0 &&
             has_plain_default(type.element.front(), type.item(value, 0, nullptr));
    case Kind::kList:
      return type.element.front().kind != Kind::kStruct;
    case Kind::kAddress:
      return std::get<base::Address>(type.load(value)).valid();
    default:
      return true;
  }
}

void write_value(Json& json, const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::kOptional:
      return write_value(json, type.element.front(), type.item(value, 0, nullptr));
    case Kind::kList:
      json.open('[');
      for (std::size_t i = 0; i < type.size(value); ++i) {
        write_value(json, type.element.front(), type.item(value, i, nullptr));
      }
      return json.close(']');
    case Kind::kBool:
    case Kind::kInteger:
    case Kind::kNumber:
      return json.raw(to_text(type, value));
    case Kind::kString:
      return json.string(std::get<std::string>(type.load(value)));
    default:
      return json.string(to_text(type, value));
  }
}

void write_struct(Json& json, const Type& type) {
  const auto defaults = type.make();
  json.member("type", "object");
  json.key("properties");
  json.open('{');
  for (const auto& field : type.fields) {
    json.key(field.name);
    json.open('{');
    json.member("description", field.help);
    const void* value = field.at(defaults.get());
    if (!field.required && has_plain_default(field.type, value)) {
      json.key("default");
      write_value(json, field.type, value);
    }
    write_body(json, field.type);
    json.close('}');
  }
  json.close('}');
  std::vector<std::string_view> required;
  for (const auto& field : type.fields) {
    if (field.required) required.push_back(field.name);
  }
  if (!required.empty()) string_array(json, "required", required);
  json.member_raw("additionalProperties", "false");
}

void write_struct_or_shorthand(Json& json, const Type& type) {
  if (type.shorthand.empty()) return write_struct(json, type);
  json.key("anyOf");
  json.open('[');
  for (const auto& field : type.fields) {
    if (field.name == type.shorthand) write_object(json, field.type);
  }
  json.open('{');
  write_struct(json, type);
  json.close('}');
  json.close(']');
}

void write_optional(Json& json, const Type& type) {
  const Type& inner = type.element.front();
  if (inner.kind == Kind::kString || inner.kind == Kind::kBool) return write_body(json, inner);
  json.key("anyOf");
  json.open('[');
  write_object(json, inner);
  json.open('{');
  json.member("const", "off");
  json.close('}');
  json.close(']');
}

void write_list_or_map(Json& json, const Type& type) {
  const bool list = type.kind == Kind::kList;
  json.member("type", list ? "array" : "object");
  if (type.identifier) {
    json.key("propertyNames");
    json.open('{');
    json.member("pattern", kIdentifier);
    json.close('}');
  }
  if (type.non_empty) json.member_raw(list ? "minItems" : "minProperties", "1");
  json.key(list ? "items" : "additionalProperties");
  write_object(json, type.element.front());
}

void write_body(Json& json, const Type& type) {
  const auto whole = [](std::int64_t value) { return std::to_string(value); };
  switch (type.kind) {
    case Kind::kBool:
      json.key("enum");
      json.open('[');
      for (const auto* word : {"true", "false", "\"on\"", "\"off\"", "\"yes\"", "\"no\""})
        json.raw(word);
      return json.close(']');
    case Kind::kInteger:
      json.member("type", "integer");
      return write_range(json, type.integers, whole);
    case Kind::kNumber:
      json.member("type", "number");
      return write_range(json, type.numbers, number_text);
    case Kind::kRatio:
    case Kind::kDuration:
    case Kind::kBytes:
      return write_number_or_pattern(json, type);
    case Kind::kString:
      return write_string(json, type);
    case Kind::kAddress:
      return json.member("type", "string");
    case Kind::kEnum:
      return string_array(json, "enum", type.words);
    case Kind::kChoice:
      return write_choice(json, type);
    case Kind::kStruct:
      return write_struct_or_shorthand(json, type);
    case Kind::kOptional:
      return write_optional(json, type);
    case Kind::kList:
    case Kind::kMap:
      return write_list_or_map(json, type);
  }
}

}  // namespace

std::string json_schema(const Type& type, std::string_view title, std::string_view id) {
  Json json;
  json.open('{');
  json.member("$schema", "https://json-schema.org/draft/2020-12/schema");
  if (!id.empty()) json.member("$id", id);
  json.member("title", title);
  write_body(json, type);
  json.close('}');
  return std::move(json).take();
}

}  // namespace steelyard::schema
