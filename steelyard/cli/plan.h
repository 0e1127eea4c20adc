// What a configuration will do, in lines for people: the routes, what each upstream goes by, and
// what a reload cannot change. For `check`. Pure.
#pragma once

#include <string>

#include "steelyard/config/document.h"

namespace steelyard::cli {

[[nodiscard]] std::string plan_of(const config::Document& document);

}  // namespace steelyard::cli
