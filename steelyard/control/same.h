// same(a, b): do two option structs say the same? Walks their field tables, so that no option is
// forgotten.
//
// A Choice with options of its own is the same only when it is the very same value: its type is not
// known here, and taking it for changed is the safe side.
#pragma once

#include <optional>
#include <tuple>

#include "steelyard/schema/field.h"

namespace steelyard::control {

template <typename T>
[[nodiscard]] bool same(const T& a, const T& b);

template <typename T>
[[nodiscard]] bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
[[nodiscard]] inline bool same(const schema::Choice& a, const schema::Choice& b) {
  return a.name == b.name && a.options == b.options;
}
template <typename T>
[[nodiscard]] bool same(const T& a, const T& b) {
  if constexpr (requires { T::fields(); }) {
    return std::apply([&](const auto&... f) { return (same(a.*f.member, b.*f.member) && ...); },
                      T::fields());
  } else {
    return a == b;
  }
}

}  // namespace steelyard::control
