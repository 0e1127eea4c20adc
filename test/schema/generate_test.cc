#include "steelyard/schema/generate.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "steelyard/schema/read.h"

#include "test/schema/json_validator.h"
#include "test/schema/sample_options.h"
#include "test/schema/sample_tree.h"

namespace steelyard::schema {
namespace {

json sample_schema() { return json::parse(json_schema(describe<sample::All>(), "Sample", "")); }

TEST(JsonSchema, AcceptsWhatTheReaderAccepts) {
  const auto schema = sample_schema();
  EXPECT_EQ(Validator::check(schema, to_json(sample::everything())), "");
  struct Row {
    std::string_view key;
    Node value;
  };
  const std::vector<Row> rows{
      {"on", plain("true")},          {"on", plain("on")},
      {"port", plain("1e3")},         {"share", plain("0.35")},
      {"share", quoted("0.35")},      {"share", plain("12.5%")},
      {"wait", plain("1h")},          {"size", plain("1e6")},
      {"size", plain("2048")},        {"size", plain("1.5MiB")},
      {"text", plain("5")},           {"text", plain("true")},
      {"maybe", plain("off")},        {"maybe", plain("2.5")},
      {"preset", plain("off")},       {"preset", plain("/short")},
      {"probe", plain("/short")},     {"pick", mapping({{"round_robin", mapping({})}})},
      {"pick", plain("round_robin")}, {"counts", mapping({})},
  };
  for (const auto& row : rows) {
    const auto tree = placed(mapping({{std::string(row.key), row.value}}));
    Problems problems;
    (void)read<sample::All>(tree, problems);
    EXPECT_EQ(problems.render("f"), "");
    EXPECT_EQ(Validator::check(schema, to_json(tree)), "") << row.key;
  }
}

TEST(JsonSchema, RefusesWhatTheReaderRefuses) {
  const auto schema = sample_schema();
  struct Row {
    std::string_view key;
    Node value;
  };
  const std::vector<Row> rows{
      {"unknown", plain("1")},
      {"on", plain("1")},
      {"on", plain("maybe")},
      {"port", plain("0")},
      {"port", plain("70000")},
      {"port", plain("1.5")},
      {"port", quoted("80")},
      {"factor", plain("9")},
      {"share", plain("20")},
      {"share", plain("x")},
      {"wait", plain("30")},
      {"wait", plain("30sec")},
      {"size", plain("10m")},
      {"size", plain("12")},
      {"word", plain("PUT")},
      {"name", plain("a b")},
      {"full", quoted("")},
      {"address", plain("80")},
      {"mode", plain("zzz")},
      {"pick", plain("zzz")},
      {"pick", mapping({{"round_robin", mapping({{"a", plain("1")}})}})},
      {"pick", mapping({{"ring", mapping({})}})},
      {"probe", mapping({{"paht", plain("/")}})},
      {"probe", plain("no-slash")},
      {"maybe", plain("none")},
      {"steps", list({})},
      {"steps", plain("5")},
      {"counts", mapping({{"a b", plain("1")}})},
      {"text", plain("")},
      {"depth", plain("0")},
  };
  for (const auto& row : rows) {
    const auto tree = placed(mapping({{std::string(row.key), row.value}}));
    Problems problems;
    (void)read<sample::All>(tree, problems);
    EXPECT_FALSE(problems.ok()) << row.key << describe_value(row.value);
    EXPECT_NE(Validator::check(schema, to_json(tree)), "") << row.key << describe_value(row.value);
  }
}

TEST(JsonSchema, CarriesHelpAndDefaults) {
  const auto schema = sample_schema();
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["properties"]["wait"]["description"], "A time.");
  EXPECT_EQ(schema["properties"]["wait"]["default"], "30s");
  EXPECT_EQ(schema["properties"]["size"]["default"], "10MiB");
  EXPECT_EQ(schema["properties"]["share"]["default"], "20%");
  EXPECT_EQ(schema["properties"]["port"]["default"], 80);
  EXPECT_EQ(schema["properties"]["mode"]["default"], "absolute");
  EXPECT_EQ(schema["properties"]["command"]["default"], json::array({"nginx", "-t"}));
  EXPECT_FALSE(schema["properties"]["any"].contains("default"));
}

// Every default that is written down must be a value that the schema itself takes.
void check_defaults(const json& schema, const std::string& path, int& seen) {
  if (schema.is_array()) {
    for (const auto& one : schema) check_defaults(one, path, seen);
  }
  if (!schema.is_object()) return;
  if (schema.contains("default")) {
    EXPECT_EQ(Validator::check(schema, schema["default"], path), "");
    ++seen;
  }
  for (const auto& [key, inner] : schema.items()) {
    if (key != "default") check_defaults(inner, path + "." + key, seen);
  }
}

TEST(JsonSchema, HasDefaultsThatItAccepts) {
  int seen = 0;
  check_defaults(sample_schema(), "", seen);
  EXPECT_GT(seen, 15);
}

TEST(Manual, NamesEveryFieldWithItsRangeAndDefault) {
  const auto text = manual(describe<sample::All>(), "Sample", "Intro.");
  for (const std::string_view line : {
           "# Sample\n\nIntro.\n\n## `(top level)`\n",
           "| `on` | true or false | `true` | A switch. |",
           "| `port` | a whole number (1 to 65535) | `80` | A port. |",
           "| `share` | a share, as 20% or 0.2 (0% to 100%) | `20%` | A share \\| part. |",
           "| `wait` | a duration, as 30s or 1h30m (1s to 1h) | `30s` | A time. A change takes "
           "effect at the next start. |",
           "| `mode` | one of relative, absolute | `absolute` | A mode. |",
           "| `pick` | one of round_robin, ring | `round_robin` | A picker. |",
           "| `maybe` | a number (0 to 10), or `off` | unset | A number or none. |",
           "| `preset` | mapping, or `off` | on | A struct, on at first. |",
           "| `command` | list of: a text | `[nginx, -t]` | Words. |",
           "| `counts` | names, each with: a whole number (0 to 4294967295) | none | Numbers by "
           "name. |",
           "## `pick`\n",
           "| `ring` | By key. |",
           "## `pick.ring`\n",
           "| `key` | a text | required | What is hashed. |",
           "## `probes[]`\n",
           "The value of `path` alone may stand for it.",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n---\n" << text;
  }
}

}  // namespace
}  // namespace steelyard::schema
