// Fuzz target; what is checked stands in proxy_property.h. Corpus: test/corpus/proxy.

#include "test/proxy/proxy_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  steelyard::proxy::testing::check_proxy_property({reinterpret_cast<const char*>(data), size});
  return 0;
}
