// From the Document to what each part of the engine wants. Pure translations, one place.
#pragma once

#include <vector>

#include "steelyard/apply/drivers.h"
#include "steelyard/config/document.h"
#include "steelyard/control/brain.h"
#include "steelyard/http/http1.h"
#include "steelyard/probe/prober.h"

namespace steelyard::cli {

[[nodiscard]] http::Http1Limits limits_of(const config::Document& document);
[[nodiscard]] std::vector<apply::Drivers::Target> driver_targets(const config::Document& document);
// Every check and score collection of the Document, for the nodes as the brain knows them.
[[nodiscard]] std::vector<probe::Target> probe_targets(const config::Document& document,
                                                       const control::Brain& brain);

}  // namespace steelyard::cli
