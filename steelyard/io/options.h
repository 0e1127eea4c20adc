// Options of the reactors: which back end moves the traffic.
#pragma once

#include <array>
#include <cstdint>

#include "steelyard/schema/field.h"

namespace steelyard::io {

enum class Backend : std::uint8_t { kAuto, kUring, kEpoll };
constexpr auto schema_names(Backend) {
  return std::array{schema::Name{"auto", Backend::kAuto}, schema::Name{"uring", Backend::kUring},
                    schema::Name{"epoll", Backend::kEpoll}};
}

}  // namespace steelyard::io
