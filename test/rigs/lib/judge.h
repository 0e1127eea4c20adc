// The verdict on a history: the rules that hold whatever happened meanwhile.
//
//   a  no answer carries another request's nonce or bytes
//   b  the nodes saw each POST at most once
//   c  an id that was answered 2xx was, when the answer was there, completed last by the node that
//      answered, a POST by it alone
//   d  every request has an outcome within its deadline
//   e  outcomes are whole 200s, or ones that the fault allows, while it lasts
//   f  floor ≤ weight ≤ cap for each sample, and the shares of one moment add up to 1
//   g  recovery: the first moment after the fault from which `quiet` is without a fault and each
//      node's part of the answers is within `share_error` of its target
// Pure: history in, verdict out.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "test/rigs/lib/history.h"

namespace steelyard::rigs {

struct Rules {
  // Outcomes beside 200 that the fault allows, as statuses ("502") or in words ("reset"); for POST
  // `post` beside `any`.
  std::set<std::string> any, post;
  Micros fault_from = 0, fault_to = 0;  // 0, 0: none
  Micros grace = 0;                     // after fault_to, while allowed outcomes still end
  Micros deadline = 0;                  // of a request; 0: not judged
  Micros quiet = 3'000'000;
  double share_error = 0.1;
  std::map<std::string, double> targets;  // shares after the fault; empty: not judged
};

struct Verdict {
  std::vector<std::string> violations;  // "rule (b): id 17 …"; at most 20 in words, all counted
  std::size_t count = 0;
  std::map<std::string, std::size_t> outcomes;  // "200", "502", "reset", "POST 502" …
  std::optional<double> recovery_s;             // rule (g); nothing: not seen to recover
  [[nodiscard]] bool good() const { return count == 0; }
};

[[nodiscard]] Verdict judge(const History& history, const Rules& rules);

// "200", "502", "reset" …
[[nodiscard]] std::string name_of(const Asked& asked);
[[nodiscard]] inline bool is_good(const Asked& asked) {
  return asked.outcome == Outcome::kAnswered && asked.status == 200;
}

}  // namespace steelyard::rigs
