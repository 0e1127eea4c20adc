// The nearest known word to a mistyped one, for "did you mean".
//
// Optimal string alignment distance (insert, delete, replace, swap neighbours each cost 1); a
// candidate counts as near when its distance is at most a third of the longer word, rounded up, or
// it begins with the word (of at least four letters). Cost: O(words × length²), for error paths
// only.
#pragma once

#include <span>
#include <string_view>

namespace steelyard::base {

[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);
// The nearest of `known`, or empty when nothing is near. Ties: the first.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

}  // namespace steelyard::base
