// A small JSON schema validator for tests: the keywords that our generator writes; an unknown one
// fails.
//
// Also turns a positioned tree into JSON as a YAML 1.2 reader would (core schema), which is what an
// editor checks.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "steelyard/schema/tree.h"

namespace steelyard::schema {

using nlohmann::json;

inline json to_json(const Node& node) {
  if (node.kind == Node::Kind::kList) {
    json out = json::array();
    for (const auto& entry : node.entries) out.push_back(to_json(entry.value));
    return out;
  }
  if (node.kind == Node::Kind::kMapping) {
    json out = json::object();
    for (const auto& entry : node.entries) out[entry.key] = to_json(entry.value);
    return out;
  }
  static const std::regex kInteger("[-+]?[0-9]+");
  static const std::regex kFloat("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
  if (node.quoted) return node.text;
  if (node.is_empty()) return nullptr;
  if (node.text == "true" || node.text == "True" || node.text == "TRUE") return true;
  if (node.text == "false" || node.text == "False" || node.text == "FALSE") return false;
  if (std::regex_match(node.text, kInteger)) return std::stoll(node.text);
  if (std::regex_match(node.text, kFloat)) return std::stod(node.text);
  return node.text;
}

class Validator {
 public:
  // Why `value` does not fit, or an empty text.
  static std::string check(const json& schema, const json& value, const std::string& path = "") {
    for (const auto& [key, rule] : schema.items()) {
      const auto why = keyword(schema, key, rule, value, path);
      if (!why.empty()) return why;
    }
    return {};
  }

 private:
  static bool is_type(const std::string& type, const json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "number") return value.is_number();
    if (type == "integer") {  // 2020-12: 1000.0 is an integer
      return value.is_number() &&
             value.get<double>() ==
                 static_cast<double>(static_cast<long long>(value.get<double>()));
    }
    return false;
  }

  static std::string keyword(const json& schema, const std::string& key, const json& rule,
                             const json& value, const std::string& path) {
    const auto fail = [&](const std::string& why) {
      return path + ": " + why + " (" + key + ") " + value.dump();
    };
    const auto size = value.is_string() ? value.get<std::string>().size() : value.size();
    if (key == "$schema" || key == "title" || key == "description" || key == "default") return {};
    if (key == "type") {
      const auto types = rule.is_array() ? rule : json::array({rule});
      const bool ok = std::any_of(types.begin(), types.end(), [&](const json& type) {
        return is_type(type.get<std::string>(), value);
      });
      return ok ? "" : fail("wrong type");
    }
    if (key == "const") return rule == value ? "" : fail("another value");
    if (key == "enum")
      return std::find(rule.begin(), rule.end(), value) != rule.end() ? ""
                                                                      : fail("not one of them");
    if (key == "anyOf") {
      std::string all;
      for (const auto& one : rule) {
        const auto why = check(one, value, path);
        if (why.empty()) return {};
        all += why + "; ";
      }
      return fail(all);
    }
    if (key == "pattern") {
      if (!value.is_string()) return {};
      return std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()))
                 ? ""
                 : fail("no match");
    }
    if (key == "minimum")
      return !value.is_number() || value.get<double>() >= rule.get<double>() ? "" : fail("too low");
    if (key == "maximum")
      return !value.is_number() || value.get<double>() <= rule.get<double>() ? ""
                                                                             : fail("too high");
    if (key == "minLength")
      return !value.is_string() || size >= rule.get<std::size_t>() ? "" : fail("too short");
    if (key == "minItems")
      return !value.is_array() || size >= rule.get<std::size_t>() ? "" : fail("too few");
    if (key == "minProperties")
      return !value.is_object() || size >= rule.get<std::size_t>() ? "" : fail("too few");
    if (key == "maxProperties")
      return !value.is_object() || size <= rule.get<std::size_t>() ? "" : fail("too many");
    return structural(schema, key, rule, value, path);
  }

  static std::string structural(const json& schema, const std::string& key, const json& rule,
                                const json& value, const std::string& path) {
    const bool object = value.is_object();
    if (key == "required") {
      for (const auto& name : rule) {
        if (object && !value.contains(name.get<std::string>()))
          return path + ": lacks " + name.dump();
      }
      return {};
    }
    if (key == "properties") {
      for (const auto& [name, inner] : rule.items()) {
        if (!object || !value.contains(name)) continue;
        if (auto why = check(inner, value[name], path + "." + name); !why.empty()) return why;
      }
      return {};
    }
    if (key == "additionalProperties" || key == "propertyNames") {
      for (const auto& item : value.items()) {
        if (!object) break;
        const bool names = key == "propertyNames";
        if (!names && schema.contains("properties") && schema["properties"].contains(item.key()))
          continue;
        if (rule == json(false)) return path + ": unknown key " + item.key();
        if (auto why =
                check(rule, names ? json(item.key()) : item.value(), path + "." + item.key());
            !why.empty()) {
          return why;
        }
      }
      return {};
    }
    if (key == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        if (auto why = check(rule, value[i], path + "[" + std::to_string(i) + "]"); !why.empty())
          return why;
      }
      return {};
    }
    return path + ": the schema has a keyword this validator does not know: " + key;
  }
};

}  // namespace steelyard::schema
