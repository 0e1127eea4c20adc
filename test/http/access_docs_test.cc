// docs/logs.md says what the access log offers, no more and no less.

#include <array>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "steelyard/http/access_log.h"

#include "test/paths.h"

namespace steelyard::http {
namespace {

using namespace std::chrono_literals;

std::string docs() {
  std::ifstream file(test::source_path("docs/logs.md"));
  return {std::istreambuf_iterator<char>(file), {}};
}

// What stands in backticks in the first column of the table under `heading`.
std::set<std::string> names_in(const std::string& text, const std::string& heading) {
  std::set<std::string> names;
  const auto from = text.find("\n## " + heading + "\n");
  EXPECT_NE(from, std::string::npos) << heading;
  const auto part = text.substr(from, text.find("\n## ", from + 4) - from);
  const std::regex row("\n\\| (`[^|]*) \\|");
  const std::regex name("`([^`]+)`");
  for (std::sregex_iterator at(part.begin(), part.end(), row), end; at != end; ++at) {
    const std::string cell = (*at)[1];
    for (std::sregex_iterator one(cell.begin(), cell.end(), name); one != end; ++one) {
      names.insert((*one)[1]);
    }
  }
  return names;
}

TEST(AccessDocs, TheTableOfVariablesIsTheOneOfTheCode) {
  std::string want = "| variable | says |\n|---|---|\n";
  for (const auto& [name, help] : AccessFormat::variables()) {
    want += "| `$" + std::string(name) + (name.back() == '_' ? "NAME" : "") + "` | " +
            std::string(help) + " |\n";
  }
  EXPECT_NE(docs().find("\n## Variables\n\n" + want + "\n## "), std::string::npos)
      << "docs/logs.md must have this table:\n"
      << want;
}

TEST(AccessDocs, EachFieldOfJsonHasItsRow) {
  AccessRecord r;
  constexpr std::array<std::optional<std::string_view>, 2> kFields{"r", "u"};
  r.client_ip = r.listener = r.scheme = r.method = r.target = r.host = r.protocol = "x";
  r.upstream = r.node = r.node_address = r.earlier_addresses = r.earlier_statuses = "x";
  r.pick_reason = r.reason = r.detail = r.request_id = r.trace_id = "x";
  r.tls_protocol = r.tls_cipher = "x";
  r.status = 200;
  r.node_status = std::uint16_t{200};
  r.connect_time = r.head_time = r.answer_time = 1ms;
  r.request_fields = kFields;
  r.answer_fields = kFields;
  std::array<char, 4096> out;
  const auto format = AccessFormat::compile("json");
  ASSERT_TRUE(format);
  const std::string line(out.data(), format->write(r, out));
  std::set<std::string> keys{"truncated"};
  const std::regex key("\"([a-z_]+)\":");
  for (std::sregex_iterator at(line.begin(), line.end(), key), end; at != end; ++at) {
    keys.insert((*at)[1]);
  }
  EXPECT_EQ(names_in(docs(), "Fields of `json`"), keys);
}

}  // namespace
}  // namespace steelyard::http
