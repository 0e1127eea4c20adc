// Fuzz target; what is checked stands in chunk_property.h. Corpus: test/corpus/chunk.

#include "test/http/chunk_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  steelyard::http::testing::check_chunk_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
