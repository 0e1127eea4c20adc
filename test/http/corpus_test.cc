// Replays the fuzz target's corpus, so that every finding stays found without a fuzzer.

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "test/http/http1_property.h"

namespace steelyard::http::testing {
namespace {

TEST(Http1Corpus, KeepsTheFuzzTargetsProperty) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(STEELYARD_SOURCE_DIR) +
                                                               "/test/corpus/http")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    SCOPED_TRACE(entry.path().filename());
    check_http1_property(input);  // aborts when it does not hold
    for (unsigned seed = 0; seed < 8 && input.size() > 2; ++seed) {
      std::string other = input;
      other[1] = static_cast<char>(seed);
      check_http1_property(other);
    }
    ++files;
  }
  EXPECT_GE(files, 200U);
}

}  // namespace
}  // namespace steelyard::http::testing
