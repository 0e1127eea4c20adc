#include "test/rigs/lib/judge.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <unistd.h>

namespace steelyard::rigs {
namespace {

constexpr Micros kMs = 1000, kSecond = 1'000'000;

// 20 s at 100 requests a second, in turn over n1 and n2, every fourth a POST; nothing wrong.
History peace() {
  History out;
  for (std::uint64_t id = 1; id <= 2000; ++id) {
    const auto start = static_cast<Micros>(id) * 10 * kMs;
    const std::string node = id % 2 == 0 ? "n1" : "n2";
    const bool post = id % 4 < 2 && id % 8 < 4;
    out.asked.push_back({id, post, start, start + 3 * kMs, Outcome::kAnswered, 200, node});
    out.served.push_back({id, post, node, start + kMs, false});
    out.served.push_back({id, post, node, start + 2 * kMs, true, 10, 1});
  }
  return out;
}

Asked& get_of(History& history, bool post) {
  for (auto& one : history.asked) {
    if (one.post == post && one.id > 100) return one;
  }
  return history.asked.front();
}

std::string only_rule(const Verdict& verdict) {
  std::string out;
  for (const auto& text : verdict.violations) {
    const auto rule = text.substr(6, 1);
    if (out.find(rule) == std::string::npos) out += rule;
  }
  return out;
}

TEST(Judge, FindsNothingInPeace) {
  const auto verdict = judge(peace(), {.deadline = kSecond});
  EXPECT_TRUE(verdict.good());
  EXPECT_EQ(verdict.outcomes.size(), 2U);
}

TEST(Judge, FindsACrossedAnswer) {
  auto history = peace();
  get_of(history, false).nonce_ok = false;
  EXPECT_EQ(only_rule(judge(history, {})), "a");
}

TEST(Judge, FindsAChangedBody) {
  auto history = peace();
  get_of(history, false).body_ok = false;
  EXPECT_EQ(only_rule(judge(history, {})), "a");
}

TEST(Judge, FindsAPostThatWasSeenTwice) {
  auto history = peace();
  const auto id = get_of(history, true).id;
  history.served.push_back({id, true, "n9", 1, false});
  EXPECT_EQ(only_rule(judge(history, {})), "b");
}

TEST(Judge, LetsAGetBeSeenTwice) {
  auto history = peace();
  const auto id = get_of(history, false).id;
  history.served.push_back({id, false, "n9", 1, false});
  history.served.push_back({id, false, "n9", 2, true});
  EXPECT_TRUE(judge(history, {}).good());
}

TEST(Judge, FindsAnAnswerThatNoNodeGave) {
  auto history = peace();
  const auto id = get_of(history, false).id;
  std::erase_if(history.served, [&](const Served& one) { return one.id == id && one.whole; });
  EXPECT_EQ(only_rule(judge(history, {})), "c");
}

TEST(Judge, FindsAnAnswerOfAnotherNodeThanTheLast) {
  auto history = peace();
  const auto& asked = get_of(history, false);
  history.served.push_back({asked.id, false, "n9", asked.end, true});
  EXPECT_EQ(only_rule(judge(history, {})), "c");
}

TEST(Judge, FindsARequestWithoutAnOutcomeOrInTime) {
  auto history = peace();
  get_of(history, true).outcome = Outcome::kNone;
  EXPECT_NE(only_rule(judge(history, {})).find('d'), std::string::npos);
  history = peace();
  get_of(history, true).end += kSecond;
  EXPECT_EQ(only_rule(judge(history, {.deadline = kSecond})), "d");
}

TEST(Judge, AllowsOutcomesOnlyWhileTheFaultLasts) {
  auto history = peace();
  auto& one = history.asked[500];  // at 5 s, a GET
  one.status = 502;
  Rules rules;
  EXPECT_EQ(only_rule(judge(history, rules)), "e");
  rules.any = {"502"};
  rules.fault_from = 4 * kSecond;
  rules.fault_to = 6 * kSecond;
  EXPECT_TRUE(judge(history, rules).good());
  rules.fault_to = 4500 * kMs;
  EXPECT_EQ(only_rule(judge(history, rules)), "e");
  rules.grace = kSecond;
  EXPECT_TRUE(judge(history, rules).good());
  rules.any.clear();
  rules.post = {"502"};
  EXPECT_EQ(judge(history, rules).good(), one.post);
}

TEST(Judge, FindsWeightsOutOfBoundsAndSharesThatAreNotAll) {
  auto history = peace();
  history.weighed = {{1, "n1", "usable", 1, 0.1, 4, 0.5}, {1, "n2", "usable", 1, 0.1, 4, 0.5}};
  EXPECT_TRUE(judge(history, {}).good());
  history.weighed[0].weight = 5;
  EXPECT_EQ(only_rule(judge(history, {})), "f");
  history.weighed[0] = {1, "n1", "usable", 1, 0.1, 4, 0.4};
  EXPECT_EQ(only_rule(judge(history, {})), "f");
}

TEST(Judge, RecoversWhenTheLastErrorAndTheSharesAre) {
  auto history = peace();
  Rules rules{
      .any = {"502"}, .fault_from = 4 * kSecond, .fault_to = 6 * kSecond, .grace = 2 * kSecond};
  EXPECT_DOUBLE_EQ(judge(history, rules).recovery_s.value(), 0);
  history.asked[700].status = 502;  // 1 s after the end
  EXPECT_NEAR(judge(history, rules).recovery_s.value(), 1.1, 0.11);
  for (std::size_t i = 600; i < 1000; ++i) history.asked[i].node = "n1";  // until 10 s
  for (auto& one : history.served) {
    if (one.id > 600 && one.id <= 1000) one.node = "n1";
  }
  rules.targets = {{"n1", 0.5}, {"n2", 0.5}};
  const auto verdict = judge(history, rules);
  EXPECT_TRUE(verdict.good());
  EXPECT_GT(verdict.recovery_s.value(), 3);
  rules.targets = {{"n1", 0.3}, {"n2", 0.7}};
  EXPECT_FALSE(judge(history, rules).recovery_s.has_value());
}

TEST(History, IsTheSameFromAFileAndLosesOnlyACutLine) {
  auto history = peace();
  history.weighed.push_back({7, "n1", "out", 0.1, 0.01, 4, 1.0 / 3});
  get_of(history, true).outcome = Outcome::kTimedOut;
  get_of(history, true).node.clear();
  std::string path = "/tmp/history-XXXXXX";
  const int fd = ::mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(write_history(path, history));
  std::FILE* const file = std::fopen(path.c_str(), "a");
  (void)std::fputs("A 77 PO", file);
  (void)std::fclose(file);
  History read;
  EXPECT_TRUE(read_history(path, read));
  ASSERT_EQ(read.asked.size(), history.asked.size());
  for (std::size_t i = 0; i < read.asked.size(); ++i) {
    EXPECT_EQ(line_of(read.asked[i]), line_of(history.asked[i]));
  }
  ASSERT_EQ(read.served.size(), history.served.size());
  EXPECT_EQ(line_of(read.weighed.at(0)), line_of(history.weighed[0]));
  ::close(fd);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace steelyard::rigs
