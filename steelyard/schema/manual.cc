#include <string>

#include "steelyard/schema/generate.h"

namespace steelyard::schema {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

// The struct that a field leads to and the path of one of it; null for a single value.
const Type* inner_struct(const Type& type, std::string& path) {
  switch (type.kind) {
    case Kind::kStruct:
      return &type;
    case Kind::kOptional:
      return inner_struct(type.element.front(), path);
    case Kind::kList:
      path += "[]";
      return inner_struct(type.element.front(), path);
    case Kind::kMap:
      path += ".NAME";
      return inner_struct(type.element.front(), path);
    default:
      return nullptr;
  }
}

std::string default_text(const FieldInfo& field, void* defaults) {
  if (field.required) return "required";
  const void* value = field.at(defaults);
  if (field.type.kind == Kind::kStruct) return "";
  if (field.type.kind == Kind::kOptional) {
    const bool set = field.type.size(value) != 0;
    if (field.type.element.front().kind == Kind::kStruct) return set ? "on" : "off";
    if (!set) return "unset";
  }
  if (field.type.kind == Kind::kList || field.type.kind == Kind::kMap) {
    if (field.type.size(value) == 0) return "none";
    if (field.type.element.front().kind == Kind::kStruct) return "built in";
  }
  const auto text = to_text(field.type, value);
  return text.empty() ? "" : "`" + text + "`";
}

std::string type_text(const Type& type) {
  switch (type.kind) {
    case Kind::kStruct:
      return "mapping";
    case Kind::kOptional:
      return type_text(type.element.front()) +
             (type.element.front().kind == Kind::kString ? "" : ", or `off`");
    case Kind::kList:
      return "list of: " + type_text(type.element.front());
    case Kind::kMap:
      return "names, each with: " + type_text(type.element.front());
    case Kind::kString:
      if (type.identifier) return "a name";
      if (!type.prefix.empty()) return "a text starting with `" + std::string(type.prefix) + "`";
      break;
    default:
      break;
  }
  return in_words(type);
}

void write_struct(std::string& out, const Type& type, const std::string& path);

void write_alternatives(std::string& out, const Type& type, const std::string& path) {
  out.append("## `").append(path).append("`\n\n");
  out += "A name, or `{name: {options}}` where it has options.\n\n| name | what |\n| --- | --- |\n";
  for (const auto& alternative : type.alternatives) {
    out.append("| `")
        .append(alternative.name)
        .append("` | ")
        .append(cell(alternative.summary))
        .append(" |\n");
  }
  out += "\n";
  for (const auto& alternative : type.alternatives) {
    if (alternative.options == nullptr) continue;
    write_struct(out, alternative.options(), path + "." + std::string(alternative.name));
  }
}

void write_struct(std::string& out, const Type& type, const std::string& path) {
  const auto defaults = type.make();
  out.append("## `").append(path.empty() ? "(top level)" : path).append("`\n\n");
  if (type.fields.empty()) out += "No options: write `{}`.\n\n";
  if (!type.shorthand.empty())
    out.append("The value of `").append(type.shorthand).append("` alone may stand for it.\n\n");
  if (!type.fields.empty()) out += "| key | value | default | what |\n| --- | --- | --- | --- |\n";
  for (const auto& field : type.fields) {
    out.append("| `")
        .append(field.name)
        .append("` | ")
        .append(cell(type_text(field.type)))
        .append(" | ");
    out.append(cell(default_text(field, defaults.get()))).append(" | ").append(cell(field.help));
    if (field.until_restart) out += " A change takes effect at the next start.";
    out += " |\n";
  }
  if (!type.fields.empty()) out += "\n";
  for (const auto& field : type.fields) {
    std::string below =
        path.empty() ? std::string(field.name) : path + "." + std::string(field.name);
    if (field.type.kind == Kind::kChoice) write_alternatives(out, field.type, below);
    if (const Type* inner = inner_struct(field.type, below); inner != nullptr)
      write_struct(out, *inner, below);
  }
}

}  // namespace

std::string manual(const Type& type, std::string_view title, std::string_view intro) {
  std::string out = "# " + std::string(title) + "\n\n" + std::string(intro) + "\n\n";
  write_struct(out, type, "");
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace steelyard::schema
