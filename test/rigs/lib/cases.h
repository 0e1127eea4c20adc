// test/http/http_cases.jsonl as bytes; what the fields mean stands beside the file's readers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace steelyard::rigs {

// All cases of a kind ("request", "response"), in the order of the file; none when it cannot be
// read.
[[nodiscard]] std::vector<nlohmann::json> load_cases(const std::string& file,
                                                     const std::string& kind);
// One character of the file is one byte.
[[nodiscard]] std::string latin1(const std::string& utf8);
[[nodiscard]] std::string raw_of(const nlohmann::json& row);

}  // namespace steelyard::rigs
