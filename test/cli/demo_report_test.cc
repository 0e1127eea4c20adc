#include "steelyard/cli/demo_report.h"

#include <gtest/gtest.h>

namespace steelyard::cli {
namespace {

using namespace std::chrono_literals;

TEST(DemoReport, ARowNamesWhatIsUnknownWithADash) {
  DemoRow row{.name = "node-a",
              .cores = 8,
              .weight = 4.5,
              .share_wanted = 0.25,
              .rate = 100,
              .share_seen = {},
              .score = 93,
              .p50 = 12'300us,
              .p99 = 1500ms,
              .errors = 0,
              .state = "usable",
              .last = "node-a: weight 8 → 4.5"};
  const auto text = render_table(std::span(&row, 1), 200);
  const auto line = text.substr(text.find('\n') + 1);
  EXPECT_EQ(line.substr(0, 7), "node-a ");
  for (const auto* part : {"4.50", "25.0%", " - ", "12.3", "1500", "93", "usable"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << "\n" << line;
  }
}

TEST(DemoReport, TheLastDecisionIsCutAtTheWidthAndNeverInsideACharacter) {
  DemoRow row;
  row.name = "n";
  row.state = "usable";
  row.last = "× × × × × × × × × × × × × × ×";
  const auto text = render_table(std::span(&row, 1), 20);
  EXPECT_NE(text.find("\n    × × "), std::string::npos) << "a line of its own\n" << text;
  EXPECT_NE(text.find("…"), std::string::npos);
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) == 0xc3) {
      EXPECT_EQ(static_cast<unsigned char>(text[i + 1]), 0x97) << "half a ×";
    }
  }
  row.last = "short";
  EXPECT_NE(render_table(std::span(&row, 1), 140).find("usable short\n"), std::string::npos);
}

TEST(DemoReport, LastLinesFitTheirRows) {
  EXPECT_EQ(last_lines("one\ntwo\nthree four\n", 2, 6), "two\nthree…\n");
  EXPECT_EQ(last_lines("one\n", 5, 80), "one\n");
  EXPECT_EQ(last_lines("one\n", 0, 80), "");
}

TEST(DemoReport, TheSummarySaysHowFarTheSidesAreApart) {
  DemoStats ours;
  DemoStats fixed;
  auto& ill = ours[static_cast<std::size_t>(Phase::kIll)];
  auto& worse = fixed[static_cast<std::size_t>(Phase::kIll)];
  for (int i = 0; i < 1000; ++i) {
    ill.latency.add(100ms);
    worse.latency.add(400ms);
  }
  ill.answered = worse.answered = 1000;
  worse.errors = 7;
  const auto text = render_summary(ours, fixed);
  EXPECT_NE(text.find("one node ill"), std::string::npos);
  EXPECT_EQ(text.find("recovered"), std::string::npos) << "a phase without requests has no row";
  EXPECT_NE(text.find("0 errors with Steelyard"), std::string::npos) << text;
  EXPECT_NE(text.find("7 errors with static weights"), std::string::npos);
  EXPECT_NE(text.find("4.0× apart"), std::string::npos) << text;
}

}  // namespace
}  // namespace steelyard::cli
