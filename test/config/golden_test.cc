// Broken files one by one: test/golden/config/NN-name.yaml → NN-name.txt, which is what `check`
// prints. STEELYARD_UPDATE_GOLDEN=1 writes the .txt files anew; read the difference before
// committing it.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "steelyard/config/load.h"

#include "test/config/files.h"
#include "test/paths.h"

namespace steelyard::config {
namespace {

std::vector<std::string> broken_files() {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_path("test/golden/config"))) {
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, SaysExactlyWhatIsWrongAndWhere) {
  const auto stem = test::source_path("test/golden/config/" + GetParam());
  const auto loaded = load(read_file(stem + ".yaml"), GetParam() + ".yaml");
  EXPECT_FALSE(loaded.ok());
  EXPECT_GT(loaded.problems.errors(), 0U);
  if (std::getenv("STEELYARD_UPDATE_GOLDEN") != nullptr) write_file(stem + ".txt", loaded.report());
  EXPECT_EQ(loaded.report(), read_file(stem + ".txt"));
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(broken_files()), [](const auto& file) {
  std::string name = file.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(GoldenFiles, AreAtLeastThirty) { EXPECT_GE(broken_files().size(), 30U); }

}  // namespace
}  // namespace steelyard::config
