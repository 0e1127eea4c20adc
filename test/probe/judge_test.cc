#include "steelyard/probe/judge.h"

#include <gtest/gtest.h>

namespace steelyard::probe {
namespace {

using model::CheckOutcome;
using model::ReportOutcome;

base::Error error(base::Code code) { return {code, base::Origin::kNode, false, "text of it"}; }

TEST(Judge, KnowsWhatACheckMeans) {
  Target target;
  target.status_to = 299;
  struct Row {
    std::string_view name;
    base::Result<wire::Response> answer;
    CheckOutcome outcome;
    std::string_view detail;
  };
  const base::TimePoint asked{};
  for (const Row& row :
       {Row{"200", wire::Response{200, {}, ""}, CheckOutcome::kPass, "HTTP 200"},
        Row{"299", wire::Response{299, {}, ""}, CheckOutcome::kPass, "HTTP 299"},
        Row{"redirect out of range", wire::Response{302, {}, ""}, CheckOutcome::kFail, "HTTP 302"},
        Row{"not ready", wire::Response{503, {}, ""}, CheckOutcome::kNotReady, "HTTP 503"},
        Row{"500", wire::Response{500, {}, ""}, CheckOutcome::kFail, "HTTP 500"},
        Row{"refused", error(base::Code::kRefused), CheckOutcome::kRefused, "text of it"},
        Row{"timeout", error(base::Code::kTimeout), CheckOutcome::kTimeout, "text of it"},
        Row{"reset", error(base::Code::kReset), CheckOutcome::kFail, "text of it"},
        Row{"too large", error(base::Code::kLimit), CheckOutcome::kFail, "text of it"}}) {
    SCOPED_TRACE(row.name);
    const auto sample =
        judge_check(target, row.answer, asked, asked + std::chrono::milliseconds(7));
    EXPECT_EQ(sample.outcome, row.outcome);
    EXPECT_EQ(sample.detail, row.detail);
    EXPECT_EQ(sample.took, std::chrono::milliseconds(7));
  }
  EXPECT_EQ(judge_connect(target, {}, asked, asked).outcome, CheckOutcome::kPass);
  EXPECT_EQ(judge_connect(target, error(base::Code::kRefused), asked, asked).outcome,
            CheckOutcome::kRefused);
}

TEST(Judge, KnowsWhatAReportMeans) {
  struct Row {
    std::string_view name;
    base::Result<wire::Response> answer;
    ReportOutcome outcome;
    std::string_view problem;
  };
  for (const Row& row :
       {Row{"good", wire::Response{200, {}, R"({"score":50})"}, ReportOutcome::kOk, ""},
        Row{"bad", wire::Response{200, {}, R"({"score":500})"}, ReportOutcome::kBad,
            "score is 500, must be 0 to 100"},
        Row{"no endpoint", wire::Response{404, {}, "{}"}, ReportOutcome::kNotFound, "HTTP 404"},
        Row{"redirect", wire::Response{302, {}, "{}"}, ReportOutcome::kBad, "HTTP 302"},
        Row{"broken", wire::Response{500, {}, "{}"}, ReportOutcome::kBad, "HTTP 500"},
        Row{"refused", error(base::Code::kRefused), ReportOutcome::kRefused, "text of it"},
        Row{"no route", error(base::Code::kUnreachable), ReportOutcome::kRefused, "text of it"},
        Row{"timeout", error(base::Code::kTimeout), ReportOutcome::kTimeout, "text of it"},
        Row{"reset", error(base::Code::kReset), ReportOutcome::kBad, "text of it"}}) {
    SCOPED_TRACE(row.name);
    const auto sample = judge_report({}, row.answer, {});
    EXPECT_EQ(sample.outcome, row.outcome);
    EXPECT_EQ(sample.problem, row.problem);
    EXPECT_EQ(sample.report.score.has_value(), row.outcome == ReportOutcome::kOk);
  }
}

}  // namespace
}  // namespace steelyard::probe
