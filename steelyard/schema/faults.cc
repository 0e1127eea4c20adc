#include "steelyard/schema/faults.h"

#include <algorithm>
#include <utility>

#include "steelyard/schema/tree.h"

namespace steelyard::schema {

bool Faults::good(std::string_view key) const {
  return std::none_of(told.begin(), told.end(), [&](const std::string& path) {
    return is_within(path, key) || is_within(key, path);
  });
}

void Faults::add(std::string_view key, std::string text, bool warning) {
  if (key.empty() || good(key)) list.push_back({std::string(key), std::move(text), warning});
}

}  // namespace steelyard::schema
