#include "steelyard/probe/judge.h"

#include "steelyard/probe/score_json.h"

namespace steelyard::probe {
namespace {

model::CheckOutcome failed_check(const base::Error& error) noexcept {
  switch (error.code) {
    case base::Code::kRefused:
      return model::CheckOutcome::kRefused;
    case base::Code::kTimeout:
      return model::CheckOutcome::kTimeout;
    default:
      return model::CheckOutcome::kFail;
  }
}

model::CheckSample sample_of(const Target& target, base::TimePoint asked, base::TimePoint now) {
  model::CheckSample sample;
  sample.node = target.node;
  sample.at = now;
  sample.took = now - asked;
  return sample;
}

}  // namespace

model::CheckSample judge_check(const Target& target, const base::Result<wire::Response>& answer,
                               base::TimePoint asked, base::TimePoint now) {
  model::CheckSample sample = sample_of(target, asked, now);
  if (!answer) {
    sample.outcome = failed_check(answer.error());
    sample.detail = answer.error().describe();
    return sample;
  }
  const std::uint16_t status = answer->status;
  sample.detail = "HTTP " + std::to_string(status);
  if (status >= target.status_from && status <= target.status_to) {
    sample.outcome = model::CheckOutcome::kPass;
  } else {
    sample.outcome = status == 503 ? model::CheckOutcome::kNotReady : model::CheckOutcome::kFail;
  }
  return sample;
}

model::CheckSample judge_connect(const Target& target, const base::Result<void>& opened,
                                 base::TimePoint asked, base::TimePoint now) {
  model::CheckSample sample = sample_of(target, asked, now);
  sample.outcome = opened ? model::CheckOutcome::kPass : failed_check(opened.error());
  sample.detail = opened ? "connected" : opened.error().describe();
  return sample;
}

model::ReportSample judge_report(const Target& target, const base::Result<wire::Response>& answer,
                                 base::TimePoint now) {
  model::ReportSample sample;
  sample.node = target.node;
  sample.at = now;
  if (!answer) {
    const base::Code code = answer.error().code;
    sample.problem = answer.error().describe();
    if (code == base::Code::kTimeout) sample.outcome = model::ReportOutcome::kTimeout;
    if (code == base::Code::kRefused || code == base::Code::kUnreachable)
      sample.outcome = model::ReportOutcome::kRefused;
    return sample;
  }
  if (answer->status != 200) {
    sample.problem = "HTTP " + std::to_string(answer->status);
    if (answer->status == 404) sample.outcome = model::ReportOutcome::kNotFound;
    return sample;
  }
  auto report = read_score(answer->body);
  if (report) {
    sample.outcome = model::ReportOutcome::kOk;
    sample.report = *report;
  } else {
    sample.problem = report.error().text;
  }
  return sample;
}

}  // namespace steelyard::probe
