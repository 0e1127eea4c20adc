#include "test/paths.h"

namespace steelyard::test {

std::string source_path(std::string_view name) {
  return std::string(STEELYARD_SOURCE_DIR "/").append(name);
}

std::string binary() { return STEELYARD_BINARY; }

}  // namespace steelyard::test
