// What an answer to a question means, as a sample: the rules of the checks (pass, fail, wait) and
// of the score (F1).
//
// Check: a status in the target's range passes, 503 outside it means "not ready", everything else
// fails. Score: 200 is read, 404 means that the node has no such endpoint, all else is bad. A
// connection that could not be made counts as refused; one that broke is bad. Pure.
#pragma once

#include "steelyard/base/result.h"
#include "steelyard/probe/prober.h"
#include "steelyard/wire/message.h"

namespace steelyard::probe {

[[nodiscard]] model::CheckSample judge_check(const Target& target,
                                             const base::Result<wire::Response>& answer,
                                             base::TimePoint asked, base::TimePoint now);
[[nodiscard]] model::CheckSample judge_connect(const Target& target,
                                               const base::Result<void>& opened,
                                               base::TimePoint asked, base::TimePoint now);
[[nodiscard]] model::ReportSample judge_report(const Target& target,
                                               const base::Result<wire::Response>& answer,
                                               base::TimePoint now);

}  // namespace steelyard::probe
