#include "steelyard/admin/adjust.h"

#include <gtest/gtest.h>
#include <string_view>

namespace steelyard::admin {
namespace {

using namespace std::chrono_literals;

TEST(Adjust, TakesTheShortestFormWithItsDefaults) {
  const auto got = parse_adjustment(R"({"node":"node-a","weight":4})");
  ASSERT_TRUE(got) << got.error().text;
  EXPECT_EQ(got->node, "node-a");
  EXPECT_EQ(got->upstream, "");
  EXPECT_DOUBLE_EQ(got->weight, 4);
  EXPECT_EQ(got->reason, "api");
  EXPECT_EQ(got->expires, base::Duration(1h));
}

TEST(Adjust, TakesEveryField) {
  const auto got = parse_adjustment(
      R"({"node":"a","upstream":"u","weight":0,"reason":"canary","expires":"90s"})");
  ASSERT_TRUE(got) << got.error().text;
  EXPECT_EQ(got->upstream, "u");
  EXPECT_DOUBLE_EQ(got->weight, 0);
  EXPECT_EQ(got->reason, "canary");
  EXPECT_EQ(got->expires, base::Duration(90s));
  const auto seconds = parse_adjustment(R"({"node":"a","weight":1.5,"expires":2.5})");
  ASSERT_TRUE(seconds);
  EXPECT_EQ(seconds->expires, base::Duration(2500ms));
}

TEST(Adjust, SaysWhatIsWrong) {
  struct Row {
    std::string_view name, body, text;
  };
  constexpr Row kRows[] = {
      {"nothing", "", "not valid JSON"},
      {"half", R"({"node":"a")", "not valid JSON"},
      {"a list", "[1]", "must be a JSON object"},
      {"trailing junk", R"({"node":"a","weight":1} x)", "not valid JSON"},
      {"no node", R"({"weight":1})", "\"node\" is missing"},
      {"no weight", R"({"node":"a"})", "\"weight\" is missing"},
      {"negative", R"({"node":"a","weight":-1})", "must be 0 (drain), or from"},
      {"next to nothing", R"({"node":"a","weight":1e-308})", "must be 0 (drain), or from"},
      {"too much", R"({"node":"a","weight":1e7})", "must be 0 (drain), or from"},
      {"words for numbers", R"({"node":"a","weight":"4"})", "\"weight\" must be a number"},
      {"a number for a name", R"({"node":1,"weight":4})", "\"node\" must be a string"},
      {"a misspelt field", R"({"node":"a","weight":4,"expire":"1h"})", "unknown field \"expire\""},
      {"twice", R"({"node":"a","weight":4,"weight":5})", "twice"},
      {"no unit", R"({"node":"a","weight":4,"expires":"30"})", "\"expires\""},
      {"never ends", R"({"node":"a","weight":4,"expires":"3000d"})", "at most 30 days"},
      {"at once", R"({"node":"a","weight":4,"expires":0})", "more than 0"},
      {"a line break", "{\"node\":\"a\\nb\",\"weight\":4}", "control character"},
      {"an empty reason", R"({"node":"a","weight":4,"reason":""})", "\"reason\" is empty"},
  };
  for (const auto& row : kRows) {
    const auto got = parse_adjustment(row.body);
    ASSERT_FALSE(got) << row.name;
    EXPECT_NE(got.error().text.find(row.text), std::string::npos)
        << row.name << ": " << got.error().text;
  }
}

}  // namespace
}  // namespace steelyard::admin
