#include "steelyard/probe/score_json.h"

#include <gtest/gtest.h>

namespace steelyard::probe {
namespace {

TEST(ScoreJson, ReadsTheArticlesExample) {
  const auto report = read_score(
      R"({"score":78,"gcCount":3,"activeThreads":45,"avgResponseTimeMs":187,"memoryUsagePct":72})");
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->score, 78.0);
  EXPECT_EQ(report->gc_count, 3U);
  EXPECT_EQ(report->active_threads, 45.0);
  EXPECT_EQ(report->average_response, std::chrono::milliseconds(187));
  EXPECT_DOUBLE_EQ(*report->memory, 0.72);
  EXPECT_FALSE(report->utilisation);
}

TEST(ScoreJson, TakesWhatIsThereAndLeavesTheRestUnknown) {
  struct Row {
    std::string_view name, body;
    std::optional<double> score, utilisation;
  };
  for (const Row& row :
       {Row{"empty object", "{}", {}, {}}, Row{"no score", R"({"cpuUsagePct":50})", {}, 0.5},
        Row{"null score", R"({"score":null})", {}, {}},
        Row{"fraction", R"({"score":0.5})", 0.5, {}},
        Row{"bounds", R"({"score":100,"cpuUsagePct":0})", 100.0, 0.0},
        Row{"exponent", R"({"score":1e1})", 10.0, {}},
        Row{"minus zero", R"({"score":-0})", 0.0, {}},
        Row{"unknown fields",
            R"({"status":"UP","score":5,"deep":{"score":900,"list":[1,{"score":"x"}]},"ok":true})",
            5.0,
            {}},
        Row{"an unknown key twice", R"({"a":1,"a":2,"score":5})", 5.0, {}},
        Row{"white space", " \r\n\t{ \"score\" : 7 }\n", 7.0, {}},
        Row{"a key in other case is another key", R"({"Score":900})", {}, {}},
        Row{"escaped key", R"({"\u0073core":7})", 7.0, {}}}) {
    SCOPED_TRACE(row.name);
    const auto report = read_score(row.body);
    ASSERT_TRUE(report) << report.error().text;
    EXPECT_EQ(report->score, row.score);
    EXPECT_EQ(report->utilisation, row.utilisation);
  }
}

TEST(ScoreJson, RefusesWhatIsWrongAndSaysWhy) {
  struct Row {
    std::string_view name;
    std::string body;
    std::string_view problem;
  };
  const std::string deep(40, '[');
  for (const Row& row :
       {Row{"too high", R"({"score":130})", "score is 130, must be 0 to 100"},
        Row{"negative", R"({"score":-1})", "score is -1, must be 0 to 100"},
        Row{"just above", R"({"score":100.5})", "score is 100.5, must be 0 to 100"},
        Row{"text", R"({"score":"78"})", "score is a string, must be a number"},
        Row{"boolean", R"({"score":true})", "score is a boolean, must be a number"},
        Row{"list", R"({"score":[78]})", "score is a list, must be a number"},
        Row{"object", R"({"score":{"value":78}})", "score is an object, must be a number"},
        Row{"twice", R"({"score":78,"score":78})", "score stands there twice"},
        Row{"twice, other field", R"({"gcCount":1,"score":7,"gcCount":2})",
            "gcCount stands there twice"},
        Row{"NaN", R"({"score":NaN})", "not JSON"},
        Row{"infinite", R"({"score":1e999})", "not JSON"},
        Row{"huge", R"({"score":99999999999999999999999})", "must be 0 to 100"},
        Row{"memory above 100", R"({"memoryUsagePct":101})",
            "memoryUsagePct is 101, must be 0 to 100"},
        Row{"negative count", R"({"gcCount":-3})", "gcCount is -3, must be 0 or more"},
        Row{"half a collection", R"({"gcCount":1.5})", "gcCount is 1.5, must be whole"},
        Row{"count beyond whole doubles", R"({"gcCount":1e300})", "must be whole"},
        Row{"endless response", R"({"avgResponseTimeMs":1e300})", "avgResponseTimeMs"},
        Row{"junk behind", R"({"score":78} x)", "not JSON"},
        Row{"two objects", R"({"score":78}{})", "not JSON"},
        Row{"mark", "\xef\xbb\xbf{\"score\":78}", "byte order mark"},
        Row{"nothing", "", "not JSON"},
        Row{"cut", R"({"score":7)", "not JSON"},
        Row{"number alone", "78", "not an object"},
        Row{"list around", R"([{"score":78}])", "not an object"},
        Row{"null alone", "null", "not an object"},
        Row{"nested too deep", R"({"a":)" + deep, "nested too deep"},
        Row{"comment", "{/**/}", "not JSON"},
        Row{"trailing comma", R"({"score":78,})", "not JSON"},
        Row{"bad UTF-8", "{\"a\":\"\xff\"}", "not JSON"},
        Row{"too large", std::string(70000, ' ') + "{}", "larger than 64 KiB"},
        Row{"page", "<html>hi</html>", "not JSON"}}) {
    SCOPED_TRACE(row.name);
    const auto report = read_score(row.body);
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().text.find(row.problem), std::string::npos) << report.error().text;
  }
}

}  // namespace
}  // namespace steelyard::probe
