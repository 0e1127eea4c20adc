// Replays the corpus of the proxy loop's fuzz target.

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "test/paths.h"
#include "test/proxy/proxy_property.h"

namespace steelyard::proxy::testing {
namespace {

TEST(Corpus, TheProxyLoopKeepsItsProperty) {
  std::size_t inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_path("test/corpus/proxy"))) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    ASSERT_GE(input.size(), 4U);
    for (const int options : {0, 7, 15}) {
      input[1] = static_cast<char>(options);
      check_proxy_property(input);
    }
    ++inputs;
  }
  EXPECT_GE(inputs, 100U);
}

}  // namespace
}  // namespace steelyard::proxy::testing
