#include "steelyard/http/pattern.h"

#include <gtest/gtest.h>

namespace steelyard::http {
namespace {

Pattern compiled(std::string_view text, bool ignore_case = false) {
  auto pattern = Pattern::compile(text, ignore_case);
  EXPECT_TRUE(pattern) << text;
  return std::move(pattern).value();
}

TEST(Pattern, MatchesAllOrAPartOfBytes) {
  struct Row {
    std::string_view name, text, subject;
    bool matches, found, ignore_case = false;
  };
  using namespace std::string_view_literals;
  for (const Row& row : {
           Row{"all", "/api/v[0-9]+/.*", "/api/v2/x", true, true},
           Row{"a part", "v[0-9]+", "/api/v2/x", false, true},
           Row{"anchored", "^/static/", "/a/static/", false, false},
           Row{"alternatives cover all", "a|ab", "ab", true, true},
           Row{"case", "/API", "/api", false, false},
           Row{"case ignored", "/API", "/api", true, true, true},
           Row{"empty subject", "a*", "", true, true},
           Row{"any byte", "/.*", "/\xff\x80z", true, true},
           Row{"a zero byte", "a.b", "a\0b"sv, true, true},
           Row{"a letter as written", "/caf\xc3\xa9", "/caf\xc3\xa9", true, true},
       }) {
    SCOPED_TRACE(row.name);
    const Pattern pattern = compiled(row.text, row.ignore_case);
    EXPECT_EQ(pattern.matches(row.subject), row.matches);
    EXPECT_EQ(pattern.found_in(row.subject), row.found);
    EXPECT_EQ(pattern.text(), row.text);
    EXPECT_EQ(pattern.ignores_case(), row.ignore_case);
  }
}

TEST(Pattern, SaysWhatIsWrongAndWhere) {
  struct Row {
    std::string_view text, column;
  };
  for (const Row& row :
       {Row{"/a(b", "column 3"}, Row{"/a(b(c)", "column 3"}, Row{"a)b", "column 2"},
        Row{"a\\(b)", "column 5"}, Row{"[(]a)", "column 5"}, Row{"[^]()]a)", "column 8"},
        Row{"ab[c", "column 3"}, Row{"ab**", "column 3"}, Row{"*a", "column 1"},
        Row{"a{2,1}", "column 2"}, Row{"(?=a)", "column 1"}, Row{"a\\1", "column 2"},
        Row{"a\\", "column 2"}, Row{"[z-a]", "column 2"}, Row{"a{2000}", "column 2"}}) {
    SCOPED_TRACE(row.text);
    const auto pattern = Pattern::compile(row.text);
    ASSERT_FALSE(pattern);
    EXPECT_EQ(pattern.error().code, base::Code::kInvalid);
    EXPECT_EQ(pattern.error().origin, base::Origin::kOperator);
    EXPECT_NE(pattern.error().text.find(row.column), std::string::npos) << pattern.error().text;
    EXPECT_NE(pattern.error().text.find(row.text), std::string::npos) << pattern.error().text;
  }
}

TEST(Pattern, HasCaps) {
  EXPECT_TRUE(Pattern::compile(std::string(Pattern::kMaxText, 'a')));
  const auto longer = Pattern::compile(std::string(Pattern::kMaxText + 1, 'a'));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, base::Code::kLimit);
  const auto larger = Pattern::compile("((a{100}){100}){100}");
  ASSERT_FALSE(larger);
  EXPECT_NE(larger.error().text.find("a{100}"), std::string::npos);
}

// Back-tracking engines take longer than the age of the universe for these.
TEST(Pattern, IsLinearWhateverTheSubject) {
  const std::string many(60'000, 'a');
  EXPECT_FALSE(compiled("(a+)+b").matches(many));
  EXPECT_FALSE(compiled("(a|a)*b").found_in(many));
  EXPECT_FALSE(compiled("(a?){200}a{200}b").found_in(many));
  EXPECT_TRUE(compiled("(.*)*").matches(many));
}

}  // namespace
}  // namespace steelyard::http
