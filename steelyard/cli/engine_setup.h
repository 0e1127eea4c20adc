// From the Document to what each part of the engine wants. Pure translations, one place.
#pragma once

#include <vector>

#include "steelyard/apply/drivers.h"
#include "steelyard/config/document.h"
#include "steelyard/control/brain.h"
#include "steelyard/http/http1.h"
#include "steelyard/probe/prober.h"

namespace steelyard::cli {

// Client connections that so many descriptors are enough for, each with one to a node, after those
// that the rest of the program needs.
[[nodiscard]] std::uint32_t clients_for(unsigned long descriptors, std::uint32_t workers);
// With fewer descriptors so many workers of the Document cannot serve a client each.
[[nodiscard]] std::uint32_t least_descriptors(const config::Document& document,
                                              std::uint32_t workers);
[[nodiscard]] http::Http1Limits limits_of(const config::Document& document);
[[nodiscard]] std::vector<apply::Drivers::Target> driver_targets(const config::Document& document);
// Every check and score collection of the Document, for the nodes as the brain knows them.
[[nodiscard]] std::vector<probe::Target> probe_targets(const config::Document& document,
                                                       const control::Brain& brain);

}  // namespace steelyard::cli
