// Fuzz target of the HTTP/1 codecs; what is checked stands in http1_property.h. Corpus:
// test/corpus/http.

#include "test/http/http1_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  steelyard::http::testing::check_http1_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
