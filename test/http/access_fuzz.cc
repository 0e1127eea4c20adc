// Fuzz target of the access log; what is checked stands in access_property.h. Corpus:
// test/corpus/access.

#include "test/http/access_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  steelyard::http::testing::check_access_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
