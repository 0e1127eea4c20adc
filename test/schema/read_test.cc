#include "steelyard/schema/read.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "test/schema/sample_options.h"
#include "test/schema/sample_tree.h"
#include "test/schema/tree_maker.h"

namespace steelyard::schema {
namespace {

using namespace std::chrono_literals;
using sample::All;

struct Got {
  All value;
  std::string problems;
};
Got read_all(Node root) {
  Problems problems;
  Got out;
  out.value = read<All>(placed(std::move(root)), problems);
  out.problems = problems.render("f");
  return out;
}
// The message alone, of a tree that has one problem.
std::string problem_of(std::string key, Node value) {
  auto text = read_all(mapping({{std::move(key), std::move(value)}})).problems;
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

TEST(Read, LeavesEveryDefaultWhereNothingIsWritten) {
  const auto got = read_all(mapping({}));
  EXPECT_EQ(got.problems, "");
  EXPECT_EQ(got.value.port, 80);
  EXPECT_EQ(got.value.command, (std::vector<std::string>{"nginx", "-t"}));
  ASSERT_TRUE(got.value.preset);
  EXPECT_EQ(got.value.preset->path, "/preset");
}

TEST(Read, ReadsAFieldOfEveryType) {
  const auto got = read_all(sample::everything());
  EXPECT_EQ(got.problems, "");
  const auto& value = got.value;
  EXPECT_FALSE(value.on);
  EXPECT_EQ(value.tiny, -128);
  EXPECT_EQ(value.port, 8080);
  EXPECT_EQ(value.factor, 0.5);
  EXPECT_EQ(value.share, 0.35);
  EXPECT_EQ(value.wait, base::Duration(90s));
  EXPECT_EQ(value.size, base::kib(64));
  EXPECT_EQ(value.text, "on");
  EXPECT_EQ(value.word, "HEAD");
  EXPECT_EQ(value.name, "node-1");
  EXPECT_EQ(value.full, "5");
  EXPECT_EQ(value.address.to_text(), "[::1]:81");
  EXPECT_EQ(value.any.to_text(), "0.0.0.0:8080");
  EXPECT_EQ(value.mode, sample::Mode::kRelative);
  EXPECT_EQ(value.pick.name, "ring");
  EXPECT_EQ(value.pick.as<sample::RingOptions>().points, 40U);
  EXPECT_EQ(value.pick.as<sample::RingOptions>().key, "path");
  EXPECT_EQ(value.probe.interval, base::Duration(10s));
  EXPECT_EQ(value.probe.path, "/health");
  EXPECT_EQ(value.maybe, 2.0);
  ASSERT_TRUE(value.extra);
  EXPECT_EQ(value.extra->interval, base::Duration(5s));
  ASSERT_TRUE(value.preset);
  EXPECT_EQ(value.preset->path, "/preset");
  EXPECT_EQ(value.preset->timeout, base::Duration(2s));
  EXPECT_EQ(value.steps, std::vector<std::uint32_t>{5});
  EXPECT_EQ(value.command, (std::vector<std::string>{"sleep", "5"}));
  ASSERT_EQ(value.probes.size(), 2U);
  EXPECT_EQ(value.probes[0].path, "/a");
  EXPECT_EQ(value.probes[1].path, "/b");
  ASSERT_EQ(value.counts.size(), 2U);
  EXPECT_EQ(value.counts.entries[0].first, "z");
  EXPECT_EQ(*value.counts.find("a"), 2U);
  EXPECT_TRUE(value.inner.fast);
  EXPECT_EQ(value.inner.depth, 9U);
}

TEST(Read, TurnsOptionalsOff) {
  const auto got = read_all(mapping({{"preset", plain("off")}, {"maybe", plain("off")}}));
  EXPECT_EQ(got.problems, "");
  EXPECT_FALSE(got.value.preset);
  EXPECT_FALSE(got.value.maybe);
}

TEST(Read, TakesTheNameOfAChoiceAlone) {
  const auto got = read_all(mapping({{"pick", plain("round_robin")}}));
  EXPECT_EQ(got.problems, "");
  EXPECT_EQ(got.value.pick.name, "round_robin");
  EXPECT_EQ(got.value.pick.as<sample::RingOptions>().points, 160U);  // none written: the defaults
}

TEST(Read, ExplainsWhatIsWrong) {
  struct Row {
    std::string_view name, key;
    Node value;
    std::string_view want;
  };
  const std::vector<Row> rows{
      {"a number for a switch", "on", plain("1"),
       "f:1:5: on: is \"1\", must be true or false (also on, off, yes, no)"},
      {"a quoted switch", "on", quoted("true"),
       "f:1:5: on: is the text \"true\", must be true or false without quotes"},
      {"a switch for a number", "port", plain("on"), "f:1:5: port: is on, must be a number"},
      {"above the type", "tiny", plain("128"), "f:1:5: tiny: is 128, must be -128 to 127"},
      {"below a limit", "port", plain("0"), "f:1:5: port: is 0, must be 1 to 65535"},
      {"a leading zero", "port", plain("0080"),
       "f:1:5: port: is 0080, has a leading zero: write 80"},
      {"a quoted number", "port", quoted("80"),
       "f:1:5: port: is the text \"80\", must be a whole number (1 to 65535) without quotes"},
      {"out of range", "factor", plain("4.5"), "f:1:5: factor: is 4.5, must be 0.5 to 4"},
      {"a percentage for a number", "factor", plain("50%"),
       "f:1:5: factor: is 50%, must be a plain number"},
      {"a share without %", "share", plain("20"),
       "f:1:5: share: is 20, must be 0% to 100%, did you mean 20%?"},
      {"a share out of range", "share", plain("120%"), "f:1:5: share: is 120%, must be 0% to 100%"},
      {"no unit", "wait", plain("30"),
       "f:1:5: wait: is 30, has no unit: write 30s for seconds (units are ns, us, ms, s, m, h, d)"},
      {"too long", "wait", plain("2h"), "f:1:5: wait: is 2h, must be 1s to 1h"},
      {"zero", "wait", plain("0"), "f:1:5: wait: is 0, must be 1s to 1h"},
      {"too small a size", "size", plain("512"), "f:1:5: size: is 512, must be 1KiB to 64MiB"},
      {"an unknown word", "word", plain("HAED"),
       "f:1:5: word: is \"HAED\", must be one of GET, HEAD, did you mean \"HEAD\"?"},
      {"no name", "name", plain("a b"),
       "f:1:5: name: is \"a b\", must be 1 to 63 letters, digits, dots, dashes or underscores, a "
       "letter or digit first"},
      {"an empty text", "full", quoted(""), "f:1:5: full: must not be empty"},
      {"IPv6 without brackets", "address", plain("::1:80"),
       "f:1:5: address: \"::1:80\" looks like IPv6, write it in brackets: [::1]:80"},
      {"no host", "address", plain(":80"), "f:1:5: address: \":80\" has no host, write host:port"},
      {"an unknown enum", "mode", plain("relativ"),
       "f:1:5: mode: is \"relativ\", must be one of relative, absolute, did you mean "
       "\"relative\"?"},
      {"a far enum", "mode", plain("zzz"),
       "f:1:5: mode: is \"zzz\", must be one of relative, absolute"},
      {"an unknown choice", "pick", plain("round_robbin"),
       "f:1:5: pick: unknown name \"round_robbin\", did you mean \"round_robin\"?"},
      {"a far choice", "pick", plain("zzz"),
       "f:1:5: pick: unknown name \"zzz\", known are round_robin, ring"},
      {"an unknown choice with options", "pick", mapping({{"rign", mapping({})}}),
       "f:2:1: pick: unknown name \"rign\", did you mean \"ring\"?"},
      {"options that are none", "pick", mapping({{"round_robin", mapping({{"a", plain("1")}})}}),
       "f:2:5: pick.round_robin: is a mapping, but round_robin has no options: write the name "
       "alone"},
      {"a choice's missing option", "pick", mapping({{"ring", mapping({})}}),
       "f:2:5: pick.ring: has no \"key\", which is required"},
      {"two choices", "pick", mapping({{"ring", mapping({})}, {"round_robin", mapping({})}}),
       "f:1:5: pick: is a mapping, must be a name or {name: {options}}, with one of round_robin, "
       "ring"},
      {"a list for a struct", "probe", list({}), "f:1:5: probe: is a list, must be a mapping"},
      {"a word for a struct without shorthand", "counts", plain("x"),
       "f:1:5: counts: is \"x\", must be a mapping"},
      {"a word for a list", "steps", plain("5"), "f:1:5: steps: is \"5\", must be a list"},
      {"a mapping for a list", "steps", mapping({}), "f:1:5: steps: is a mapping, must be a list"},
      {"an empty list", "steps", list({}), "f:1:5: steps: must not be empty"},
      {"a mapping for a number", "port", mapping({}),
       "f:1:5: port: is a mapping, must be a whole number (1 to 65535)"},
      {"nothing for a number", "port", plain(""),
       "f:1:5: port: is empty, must be a whole number (1 to 65535)"},
      {"null for a text", "text", plain("null"), "f:1:5: text: is empty, must be a text"},
      {"nothing for a struct", "probe", plain("~"),
       "f:1:5: probe: is empty, must be a mapping (for all defaults leave the key out or write "
       "{})"},
      {"nothing for a list", "steps", plain(""),
       "f:1:5: steps: is empty, must be a list (write [] for an empty one)"},
      {"an unknown key", "prot", plain("1"), "f:1:1: unknown key \"prot\", did you mean \"port\"?"},
      {"an unknown key below", "probe", mapping({{"intervall", plain("1s")}}),
       "f:2:1: probe: unknown key \"intervall\", did you mean \"interval\"?"},
      {"a far unknown key", "probe", mapping({{"zzz", plain("1s")}}),
       "f:2:1: probe: unknown key \"zzz\", known are path, interval, timeout"},
      {"in a list", "probes", list({plain("/a"), mapping({{"path", plain("b")}})}),
       "f:4:5: probes[1].path: is \"b\", must start with \"/\""},
      {"by shorthand", "probes", list({plain("b")}),
       "f:2:5: probes[0]: is \"b\", must start with \"/\""},
      {"a name in a map", "counts", mapping({{"a b", plain("1")}}),
       "f:2:1: counts: the name \"a b\" must be 1 to 63 letters, digits, dots, dashes or "
       "underscores, a letter or digit "
       "first"},
      {"a value in a map", "counts", mapping({{"a", plain("-1")}}),
       "f:2:5: counts.a: is -1, must be 0 to 4294967295"},
      {"what two fields say together", "probe",
       mapping({{"interval", plain("1s")}, {"timeout", plain("2s")}}),
       "f:3:5: probe.timeout: is longer than interval"},
      {"about a default, at the struct", "probe", mapping({{"interval", plain("500ms")}}),
       "f:1:5: probe.timeout: is longer than interval"},
      {"a warning", "probe", mapping({{"interval", plain("1s")}}),
       "f:1:5: warning: probe: leaves no pause"},
      {"a spliced field", "depth", plain("0"), "f:1:5: depth: is 0, must be 1 to 4294967295"},
      {"a zero byte", "text", quoted(std::string("a\0b", 3)), "f:1:5: text: has a zero byte in it"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(problem_of(std::string(row.key), row.value), row.want);
  }
}

TEST(Read, ReportsEverythingAtOnceInTheOrderOfTheFile) {
  const auto got =
      read_all(mapping({{"zzz", plain("1")},
                        {"port", plain("0")},
                        {"probe", mapping({{"path", plain("x")}, {"path", plain("/y")}})},
                        {"wait", plain("5")}}));
  EXPECT_EQ(
      got.problems,
      "f:1:1: unknown key \"zzz\", known are on, tiny, port, factor, share, wait, size, text, "
      "word, name, full, "
      "address, any, mode, pick, probe, maybe, extra, preset, steps, command, probes, counts, "
      "fast, depth\n"
      "f:2:5: port: is 0, must be 1 to 65535\n"
      "f:4:5: probe.path: is \"x\", must start with \"/\"\n"
      "f:5:1: probe: duplicate key \"path\", first at 4:1\n"
      "f:6:5: wait: is 5, has no unit: write 5s for seconds (units are ns, us, ms, s, m, h, d)\n");
}

TEST(Read, SaysNothingMoreAboutWhatWasRefused) {
  Node alias = plain("");
  alias.refused = true;
  EXPECT_EQ(read_all(mapping({{"port", alias}, {"probe", alias}})).problems, "");
}

TEST(Read, NeverClampsAWrongValueButLeavesTheDefault) {
  const auto got = read_all(mapping({{"port", plain("70000")}, {"share", plain("5")}}));
  EXPECT_EQ(got.value.port, 80);
  EXPECT_EQ(got.value.share, 0.2);
}

TEST(Tree, ALongTextIsCutBetweenCharacters) {
  EXPECT_EQ(describe_value(plain(std::string(57, 'x') + "€")),
            "is \"" + std::string(57, 'x') + "€\"")
      << "60 bytes are all shown";
  for (const std::string last : {"é", "€", "😀"}) {
    for (std::size_t before = 50; before <= 60; ++before) {
      const std::string begin(before, 'x');
      std::string text = begin;
      for (int i = 0; i < 10; ++i) text += last;
      std::string kept = begin;
      for (std::size_t i = 0; i < (60 - before) / last.size(); ++i) kept += last;
      EXPECT_EQ(describe_value(plain(text)), "is \"" + kept + "…\"") << before;
    }
  }
}

TEST(Tree, FollowsPathsThroughKeysWithDots) {
  const auto root =
      placed(mapping({{"up", mapping({{"a.b", list({plain("x"), mapping({{"k", plain("v")}})})},
                                      {"a", mapping({{"b", plain("short")}})}})}}));
  ASSERT_NE(root.at("up.a.b[1].k"), nullptr);
  EXPECT_EQ(root.at("up.a.b[1].k")->text, "v");
  EXPECT_EQ(root.at("up.a.b[2]"), nullptr);
  EXPECT_EQ(root.at("up.a.b[x]"), nullptr);
  EXPECT_EQ(root.at("up.a.b["), nullptr);
  EXPECT_EQ(root.at("up.missing"), nullptr);
  EXPECT_EQ(&root.deepest("up.missing.more"), root.at("up"));
  EXPECT_EQ(root.at(""), &root);
}

TEST(Problems, CountsErrorsAndWarningsApart) {
  Problems problems;
  problems.warn({2, 1}, "b", "odd");
  EXPECT_TRUE(problems.ok());
  problems.error({1, 9}, "a", "wrong");
  problems.error({1, 9}, "", "second of one place");
  EXPECT_FALSE(problems.ok());
  EXPECT_EQ(problems.errors(), 2U);
  EXPECT_EQ(problems.warnings(), 1U);
  EXPECT_EQ(problems.render("x.yaml"),
            "x.yaml:1:9: a: wrong\nx.yaml:1:9: second of one place\nx.yaml:2:1: warning: b: odd\n");
}

}  // namespace
}  // namespace steelyard::schema
