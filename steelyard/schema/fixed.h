// Fields that are taken at the next start only (until_restart()): which there are, and which of
// them differ between two objects. One list for the manual, `check` and a reload's messages.
//
// Paths are as messages name them, "clients.max_head", in the order of the tables. Found in structs
// within structs: what is below a list, a map or an optional comes and goes with a reload.
#pragma once

#include <string>
#include <vector>

#include "steelyard/schema/type.h"

namespace steelyard::schema {

[[nodiscard]] std::vector<std::string> fixed_fields(const Type& type);
// Both point to an object of the described type; neither is changed.
[[nodiscard]] std::vector<std::string> fixed_changes(const Type& type, void* before, void* after);

}  // namespace steelyard::schema
