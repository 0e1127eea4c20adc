// Every file in examples/ is a complete configuration without a warning, and the generated schema
// takes it too.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "steelyard/config/load.h"
#include "steelyard/config/yaml.h"

#include "test/config/files.h"
#include "test/paths.h"
#include "test/schema/json_validator.h"

namespace steelyard::config {
namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path(folder))) {
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string schema_says(const nlohmann::json& schema, const std::string& text) {
  schema::Problems problems;
  const auto tree = parse_yaml(text, problems);
  return tree ? schema::Validator::check(schema, schema::to_json(*tree)) : "no tree";
}

TEST(Examples, LoadWithoutAWarningAndFitTheSchema) {
  const auto schema = nlohmann::json::parse(render_schema());
  const auto names = names_in("examples");
  EXPECT_GE(names.size(), 5U);
  for (const auto& name : names) {
    const auto text = read_file(test::source_path("examples/" + name));
    const auto loaded = load(text, name);
    EXPECT_EQ(loaded.report(), "");
    EXPECT_TRUE(loaded.ok()) << name;
    EXPECT_EQ(schema_says(schema, text), "") << name;
  }
}

TEST(Examples, MinimalHasSixLines) {
  const auto text = read_file(test::source_path("examples/minimal.yaml"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
}

// What the schema refuses the reader refuses; the reader also knows places, units and cross-checks.
TEST(Schema, RefusesNoFileThatTheReaderTakes) {
  const auto schema = nlohmann::json::parse(render_schema());
  int both = 0;
  for (const auto& name : names_in("test/golden/config")) {
    const auto text = read_file(test::source_path("test/golden/config/" + name));
    if (!schema_says(schema, text).empty()) {
      EXPECT_FALSE(load(text, name).ok()) << name;
      ++both;
    }
  }
  EXPECT_GE(both, 20);
}

}  // namespace
}  // namespace steelyard::config
