#include "steelyard/http/lookup.h"

#include <array>
#include <gtest/gtest.h>

namespace steelyard::http {
namespace {

using Found = std::optional<std::string_view>;

Head at(std::string_view path) {
  Head head;
  head.method = Method::kGet;
  head.path = path;
  return head;
}

TEST(Lookup, SplitsThePathAtTheFirstQuestionMark) {
  struct Row {
    std::string_view target, path, query;
  };
  for (const Row& row : {Row{"/a/b", "/a/b", ""}, Row{"/a?", "/a", ""},
                         Row{"/a?b=c?d", "/a", "b=c?d"}, Row{"/?x", "/", "x"}, Row{"?x", "/", "x"},
                         Row{"*", "*", ""}, Row{"/a%3fb", "/a%3fb", ""}}) {
    SCOPED_TRACE(row.target);
    EXPECT_EQ(path_of(at(row.target)), row.path);
    EXPECT_EQ(query_of(at(row.target)), row.query);
  }
  Head connect;
  connect.method = Method::kConnect;
  EXPECT_EQ(path_of(connect), "");
}

TEST(Lookup, FindsTheFirstArgumentOfThatNameAsItWasSent) {
  struct Row {
    std::string_view target, name;
    Found value;
  };
  for (const Row& row : {
           Row{"/?a=1&b=2", "b", "2"},
           Row{"/?a=1&a=2", "a", "1"},
           Row{"/?a", "a", ""},
           Row{"/?a=", "a", ""},
           Row{"/?a&a=1", "a", ""},
           Row{"/?&&a=1&", "a", "1"},
           Row{"/?a=b=c", "a", "b=c"},
           Row{"/?ab=1", "a", std::nullopt},
           Row{"/?A=1", "a", std::nullopt},
           Row{"/?%61=1", "a", std::nullopt},
           Row{"/?a=%20+x", "a", "%20+x"},
           Row{"/?a=1;b=2", "b", std::nullopt},
           Row{"/a=1", "a", std::nullopt},
           Row{"/?", "a", std::nullopt},
           Row{"/?=1", "", std::nullopt},
       }) {
    SCOPED_TRACE(row.target);
    EXPECT_EQ(query_argument(at(row.target), row.name), row.value);
  }
}

TEST(Lookup, FindsTheFirstCookieOverAllLines) {
  const std::array fields{Field{"Host", "a", FieldId::kHost},
                          Field{"Cookie", "a=1; b = 2 ;c=\"3\"; d; e=", FieldId::kCookie},
                          Field{"cookie", "b=9; f=x=y;;", FieldId::kCookie},
                          Field{"X-Cookie", "g=1"}};
  Head head;
  head.fields = fields;
  struct Row {
    std::string_view name;
    Found value;
  };
  for (const Row& row :
       {Row{"a", "1"}, Row{"b", "2"}, Row{"c", "\"3\""}, Row{"d", std::nullopt}, Row{"e", ""},
        Row{"f", "x=y"}, Row{"g", std::nullopt}, Row{"A", std::nullopt}, Row{"", std::nullopt}}) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(cookie(head, row.name), row.value);
  }
}

TEST(Lookup, FindsTheFirstFieldWithoutRegardToCase) {
  const std::array fields{Field{"X-User", "one"}, Field{"x-user", "two"}, Field{"X-Empty", ""},
                          Field{"X_User", "look-alike", FieldId::kOther, true}};
  Head head;
  head.fields = fields;
  EXPECT_EQ(header(head, "x-USER"), Found("one"));
  EXPECT_EQ(header(head, "x-empty"), Found(""));
  EXPECT_EQ(header(head, "x-none"), std::nullopt);
  EXPECT_EQ(header(head, "x_user"), Found("look-alike"));
}

TEST(Lookup, TakesTheHostOutOfAnAuthority) {
  for (const auto& [authority, host] :
       {std::pair<std::string_view, std::string_view>{"a.example", "a.example"},
        {"a:80", "a"},
        {"[::1]:80", "::1"},
        {"[::1]", "::1"},
        {"", ""},
        {"a:", "a"}}) {
    EXPECT_EQ(host_of(authority), host);
  }
}

}  // namespace
}  // namespace steelyard::http
