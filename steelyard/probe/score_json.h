// Reads the body of a score endpoint:
// {"score":78,"gcCount":3,"activeThreads":45,"avgResponseTimeMs":187,
// "memoryUsagePct":72,"cpuUsagePct":40}.
//
// Strict in what it understands, deaf to what it does not: unknown fields are ignored (any depth up
// to 32), `null` means not reported, every known field may be missing (a missing score is an empty
// optional). Wrong types, values out of range (score 0–100, percentages 0–100, the others ≥ 0,
// gcCount whole), known keys twice, anything behind the object, a byte order mark, NaN and numbers
// beyond a double are errors with a text for people. Cost: one pass over at most 64 KiB. Pure.
#pragma once

#include <string_view>

#include "steelyard/base/result.h"
#include "steelyard/model/sample.h"

namespace steelyard::probe {

[[nodiscard]] base::Result<model::LoadReport> read_score(std::string_view body);

}  // namespace steelyard::probe
