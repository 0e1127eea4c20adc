#include "steelyard/config/yaml.h"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace steelyard::config {
namespace {

using schema::Node;
using schema::Place;

std::string problems_of(std::string_view text) {
  schema::Problems problems;
  (void)parse_yaml(text, problems);
  return problems.render("f");
}

TEST(Yaml, KeepsThePlaceOfEveryKeyAndValueInCharacters) {
  schema::Problems problems;
  const auto root = parse_yaml("# ä\na: 1\nb:\n  - x\n  - { ü: \"y\" , z: 2}\n", problems);
  ASSERT_TRUE(root);
  EXPECT_EQ(problems.render("f"), "");
  ASSERT_EQ(root->entries.size(), 2U);
  EXPECT_EQ(root->place, (Place{2, 1}));
  EXPECT_EQ(root->entries[0].key_place, (Place{2, 1}));
  EXPECT_EQ(root->at("a")->place, (Place{2, 4}));
  EXPECT_EQ(root->at("b[0]")->place, (Place{4, 5}));
  EXPECT_EQ(root->at("b[1]")->entries[0].key_place, (Place{5, 7}));
  EXPECT_EQ(root->at("b[1].ü")->place, (Place{5, 10}));
  EXPECT_EQ(root->at("b[1].z")->place, (Place{5, 19}));
}

TEST(Yaml, TellsQuotedFromPlain) {
  schema::Problems problems;
  const auto root = parse_yaml("a: on\nb: \"on\"\nc: 'on'\nd: |\n  on\ne:\nf: ''\n", problems);
  ASSERT_TRUE(root);
  EXPECT_FALSE(root->at("a")->quoted);
  EXPECT_TRUE(root->at("b")->quoted);
  EXPECT_TRUE(root->at("c")->quoted);
  EXPECT_TRUE(root->at("d")->quoted);
  EXPECT_EQ(root->at("d")->text, "on\n");
  EXPECT_TRUE(root->at("e")->is_empty());
  EXPECT_FALSE(root->at("f")->is_empty());
}

TEST(Yaml, RefusesWhatItDoesNotTakeWithItsPlace) {
  struct Row {
    std::string_view name, text, want;
  };
  constexpr std::array rows{
      Row{"an anchor", "a: &x 1\n", "f:1:4: a: anchors (&) are not taken, write the value out\n"},
      Row{"an alias", "a: 1\nb: *x\n",
          "f:2:4: b: aliases (*) are not taken, write the value out\n"},
      Row{"a tag", "a: !!int 1\n",
          "f:1:4: a: tags (!) are not taken, the key says what the value is\n"},
      Row{"a local tag", "a: !x {}\n",
          "f:1:4: a: tags (!) are not taken, the key says what the value is\n"},
      Row{"a merge key", "a:\n  <<: {b: 1}\n",
          "f:2:3: a: merge keys (<<) are not taken, write the keys out\n"},
      Row{"a second document", "a: 1\n---\nb: 2\n",
          "f:2:1: a second document begins here, a configuration is one document\n"},
      Row{"an alias as a key", "a: 1\n*x : 2\n",
          "f:2:1: aliases (*) are not taken, write the value out\n"},
      Row{"a list as a key", "? [a]\n: 1\n",
          "f:1:3: a key must be a single text, not a list or a mapping\n"},
      Row{"nothing", "", "f:1:1: is empty, a configuration has at least listeners and upstreams\n"},
      Row{"a tab in front", "a:\n\tb: 1\n",
          "f:2:1: a tab stands in the indentation, YAML takes only spaces there\n"},
      Row{"a tab after spaces", "a:\n  - x\n  \t- y: 1\n",
          "f:3:3: a tab stands in the indentation, YAML takes only spaces there\n"},
      Row{"an open list", "a: [1, 2\nb: 3\n",
          "f:2:2: syntax error: did not find expected ',' or ']' (while parsing a flow sequence "
          "that began at 1:4)\n"},
      Row{"an open quote", "a: 'x\n",
          "f:2:1: syntax error: found unexpected end of stream (while scanning a quoted scalar "
          "that began at 1:4)\n"},
      Row{"an at sign", "a: @x\n",
          "f:1:4: syntax error: found character that cannot start any token (while scanning for "
          "the next token that "
          "began at 1:4): a text that starts with this character wants quotes\n"},
      Row{"bytes that are no UTF-8", "a: \xc3\x28\n",
          "f:1:5: not UTF-8 text: invalid trailing UTF-8 octet\n"},
      Row{"a zero byte", std::string_view("a: \0b\n", 6),
          "f:1:4: not UTF-8 text: control characters are not allowed\n"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(problems_of(row.text), row.want);
  }
}

TEST(Yaml, TakesADocumentMarkerACommentAByteOrderMarkAndCrLf) {
  for (const std::string_view text :
       {"---\na: 1\n", "%YAML 1.2\n---\na: 1\n", "a: 1\n...\n", "a: 1 # one\n",
        "\xef\xbb\xbf"
        "a: 1\n",
        "a: 1\r\n", "a: 1", "{a: 1}"}) {
    schema::Problems problems;
    const auto root = parse_yaml(text, problems);
    EXPECT_EQ(problems.render("f"), "") << text;
    ASSERT_TRUE(root) << text;
    ASSERT_NE(root->at("a"), nullptr) << text;
    EXPECT_EQ(root->at("a")->text, "1") << text;
  }
}

TEST(Yaml, TakesThirtyTwoLevelsAndNotOneMore) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels - 1, '[') + "x" + std::string(levels - 1, ']');
  };
  EXPECT_EQ(problems_of(nested(kMaxDepth)), "");
  EXPECT_EQ(problems_of(nested(kMaxDepth + 1)), "f:1:33: is nested more than 32 levels deep\n");
  EXPECT_EQ(problems_of(nested(100'000)), "f:1:33: is nested more than 32 levels deep\n");
}

TEST(Yaml, TakesAKeyOfAKibibyteAndNotOneByteMore) {
  const std::string key(kMaxKey, 'k');
  EXPECT_EQ(problems_of("? " + key + "\n: 1\n"), "");
  EXPECT_EQ(problems_of("? " + key + "k\n: 1\n"), "f:1:3: a key has 1025 bytes, may have 1024\n");
}

TEST(Yaml, ManyKeysAreFoundAsFewAre) {
  const std::string few =
      "a.b: {c: 1}\na: {b: {c: 2}}\na.: 3\n? ''\n: {d: 4}\na.b: 5\nb.c.d: [6]\n";
  std::string many = few;
  for (int i = 0; i < 1000; ++i) many += "k" + std::to_string(i) + ": x\n";
  schema::Problems problems;
  const auto by_walk = parse_yaml(few, problems);
  const auto by_index = parse_yaml(many, problems);
  ASSERT_TRUE(by_walk && by_index);
  EXPECT_TRUE(by_walk->by_key.empty());
  EXPECT_FALSE(by_index->by_key.empty());
  for (const char* const path : {"", "a", "a.", "a.b", "a.b.c", "a..b", ".d", ".", "b", "b.c.d[0]",
                                 "b.c.d[1]", "b.c.d.e", "a.b[0]", "zz", "[0]"}) {
    const Node* const walk = by_walk->at(path);
    const Node* const index = by_index->at(path);
    ASSERT_EQ(walk == nullptr, index == nullptr) << path;
    EXPECT_TRUE(walk == nullptr || walk->place == index->place) << path;
    EXPECT_EQ(by_walk->deepest(path).place, by_index->deepest(path).place) << path;
    EXPECT_EQ(by_walk->find(path) == nullptr, by_index->find(path) == nullptr) << path;
  }
  EXPECT_EQ(by_index->at("k999")->place, (Place{1007, 7}));
}

TEST(Yaml, TakesOneMebibyteAndNotOneByteMore) {
  std::string text = "a: 1\n#";
  text.resize(kMaxSize, 'x');
  EXPECT_EQ(problems_of(text), "");
  text += 'x';
  EXPECT_EQ(problems_of(text),
            "f:1:1: is larger than 1 MiB, which is the most a configuration may have\n");
}

}  // namespace
}  // namespace steelyard::config
