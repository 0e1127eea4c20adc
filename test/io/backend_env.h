// The back end that a test binary runs on: $STEELYARD_IO (auto, uring, epoll), by default auto.
// CTest runs the integration tests once for each.
#pragma once

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "steelyard/io/backend.h"

namespace steelyard::io {

// Tests only: a wrong word or a broken environment ends the test program.
inline std::unique_ptr<Reactor> reactor_of_environment() {
  const char* const word = std::getenv("STEELYARD_IO");
  const std::string wanted = word == nullptr ? "auto" : word;
  for (const auto& name : schema_names(Backend::kAuto)) {
    if (name.text != wanted) continue;
    auto choice = choose_backend(name.value);
    if (!choice) throw std::runtime_error(choice.error().describe());
    auto made = make_reactor(*choice);
    if (!made) throw std::runtime_error(made.error().describe());
    return std::move(*made);
  }
  throw std::runtime_error("STEELYARD_IO is " + wanted);
}

}  // namespace steelyard::io
