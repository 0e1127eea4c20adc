// docs/logs.md lists the words of every reason.

#include "steelyard/request/reason.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "test/paths.h"

namespace steelyard::request {
namespace {

TEST(Reasons, AreInTheDocs) {
  std::ifstream file(test::source_path("docs/logs.md"));
  const std::string docs{std::istreambuf_iterator<char>(file), {}};
  std::string want = "| word | status | says |\n|---|---|---|\n";
  for (std::size_t i = 1; i < kReasons; ++i) {
    const auto text = describe(static_cast<Reason>(i));
    want += "| `" + std::string(text.word) + "` | " + std::to_string(text.status) + " | " +
            std::string(text.sentence) + " |\n";
  }
  EXPECT_NE(docs.find("\n## Words of `$reason`\n\n" + want + "\n"), std::string::npos)
      << "docs/logs.md must have this table:\n"
      << want;
}

}  // namespace
}  // namespace steelyard::request
