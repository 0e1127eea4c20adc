// For properties that fuzz targets and tests share: a broken one ends the process, as libFuzzer
// wants it.
#pragma once

#include <cstdlib>

namespace steelyard::http::testing {

inline void require(bool fine) {
  if (!fine) std::abort();
}

}  // namespace steelyard::http::testing
