// What a case of http_cases.jsonl says of what client and back end saw. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/rigs/lib/recorder.h"

namespace steelyard::rigs {

struct ClientSeen {
  std::string bytes;
  bool closed = false, reset = false;
};

// reject, forward, wait, answer; relay, bad_gateway, gateway_timeout, truncate.
[[nodiscard]] std::string outcome_of(const nlohmann::json& row, const ClientSeen& client,
                                     const Recorded& back);
// What is wrong, in words; empty: nothing.
[[nodiscard]] std::vector<std::string> judge_request_case(const nlohmann::json& row,
                                                          const ClientSeen& client,
                                                          const Recorded& back);
[[nodiscard]] std::vector<std::string> judge_answer_case(const nlohmann::json& row,
                                                         const ClientSeen& client,
                                                         const std::string& outcome);

}  // namespace steelyard::rigs
