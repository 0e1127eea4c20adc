// Replays the fuzz targets' corpora, so that every finding stays found without a fuzzer.

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "test/http/access_property.h"
#include "test/http/chunk_property.h"
#include "test/http/http1_property.h"
#include "test/http/values_property.h"
#include "test/paths.h"

namespace steelyard::http::testing {
namespace {

std::vector<std::string> inputs(const std::string& name) {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_path("test/corpus/" + name))) {
    std::ifstream file(entry.path(), std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

// Each check aborts when its property does not hold.
TEST(Corpus, Http1KeepsItsProperty) {
  const auto all = inputs("http");
  EXPECT_GE(all.size(), 800U);
  for (const std::string& input : all) {
    check_http1_property(input);
    for (unsigned seed = 0; seed < 8 && input.size() > 2; ++seed) {
      std::string other = input;
      other[1] = static_cast<char>(seed);
      check_http1_property(other);
    }
  }
}

TEST(Corpus, ChunksKeepTheirProperty) {
  const auto all = inputs("chunk");
  EXPECT_GE(all.size(), 60U);
  for (std::string input : all) {
    for (int seed = 0; seed < 8; ++seed) {
      input[0] = static_cast<char>(seed);
      check_chunk_property(input);
    }
  }
}

TEST(Corpus, ValuesKeepTheirProperties) {
  const auto all = inputs("values");
  EXPECT_GE(all.size(), 60U);
  for (std::string input : all) {
    for (int pick = 0; pick < 6; ++pick) {
      input[0] = static_cast<char>(pick);
      check_values_property(input);
    }
  }
}

TEST(Corpus, AccessLogKeepsItsProperty) {
  const auto all = inputs("access");
  EXPECT_GE(all.size(), 50U);
  for (std::string input : all) {
    check_access_property(input);
    input[0] = '\0';  // the shortest line
    check_access_property(input);
  }
}

}  // namespace
}  // namespace steelyard::http::testing
