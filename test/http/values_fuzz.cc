// Fuzz target; what is checked stands in values_property.h. Corpus: test/corpus/values.

#include "test/http/values_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  steelyard::http::testing::check_values_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
