// What a configuration may cost: its size decides, not its square.
#include "steelyard/config/checks.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>

#include "steelyard/config/load.h"

namespace steelyard::config {
namespace {

std::string repeated(int times, const std::function<std::string(int)>& line) {
  std::string out;
  for (int i = 0; i < times; ++i) out += line(i);
  return out;
}

std::string with_routes(const std::string& routes) {
  return "upstreams: {api: {nodes: [127.0.0.1:1]}}\nlisteners:\n- address: 127.0.0.1:2\n  "
         "routes:\n" +
         routes;
}

// A failed test must not print a megabyte.
std::string front(const Loaded& loaded) { return loaded.report().substr(0, 300); }

std::string numbered(std::string_view before, int i, std::string_view behind) {
  return std::string(before) + std::to_string(i) + std::string(behind);
}

TEST(Checks, ManyRoutesAreTaken) {
  const auto loaded =
      load(with_routes(repeated(
               24'000,
               [](int i) { return numbered("  - {upstream: api, match: {path: /", i, "}}\n"); })),
           "f");
  EXPECT_EQ(front(loaded), "");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.document->listeners[0].routes.size(), 24'000U);
}

TEST(Checks, ManyUpstreamsAreTakenAndToldOnlySoFar) {
  const auto many = load(
      "listeners: [{address: 127.0.0.1:2, routes: [{upstream: u19999}]}]\n"
      "upstreams:\n" +
          repeated(20'000, [](int i) { return numbered("  u", i, ": {nodes: [127.0.0.1:1]}\n"); }),
      "f");
  ASSERT_TRUE(many.ok());
  EXPECT_EQ(many.problems.warnings(), 19'999U);
  EXPECT_EQ(many.problems.list().size(), schema::Problems::kMost);
  const auto report = many.report();
  EXPECT_TRUE(report.starts_with("f:3:7: warning: upstreams.u0: is used by no route"))
      << front(many);
  EXPECT_TRUE(report.ends_with("\nf: and 18999 more of the kind\n")) << front(many);
}

TEST(Checks, RegularExpressionsHaveABudgetTogether) {
  const auto costly =
      load(with_routes(repeated(9'000,
                                [](int i) {
                                  return numbered("  - {upstream: api, match: {path_regex: '/", i,
                                                  ".*a{1,900}'}}\n");
                                })),
           "f");
  EXPECT_FALSE(costly.ok());
  EXPECT_EQ(costly.problems.errors(), 1U);
  EXPECT_TRUE(costly.report().starts_with("f:1")) << front(costly);
  EXPECT_NE(costly.report().find(".match.path_regex: is one regular expression too many: "),
            std::string::npos)
      << front(costly);
  const auto usual =
      load(with_routes(repeated(5'000,
                                [](int i) {
                                  return numbered("  - {upstream: api, match: {path_regex: '/", i,
                                                  "/[a-z]+'}}\n");
                                })),
           "f");
  EXPECT_EQ(front(usual), "");
}

TEST(Checks, AFileThatIsWrongEverywhereIsToldOnlySoFar) {
  const auto loaded = load(
      "listeners: [{address: 127.0.0.1:2, routes: [{upstream: u7}]}]\n"
      "upstreams:\n" +
          repeated(3'000, [](int i) { return numbered("  u", i, ": {nodes: [10.0.0.1]}\n"); }),
      "f");
  EXPECT_EQ(loaded.problems.errors(), 3'000U);
  EXPECT_EQ(loaded.problems.warnings(), 0U);
  EXPECT_EQ(loaded.problems.list().size(), schema::Problems::kMost);
  EXPECT_TRUE(loaded.report().ends_with("f: and 2000 more of the kind\n"));
}

}  // namespace
}  // namespace steelyard::config
