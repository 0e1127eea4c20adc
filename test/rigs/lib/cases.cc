#include "test/rigs/lib/cases.h"

#include <fstream>

namespace steelyard::rigs {

std::vector<nlohmann::json> load_cases(const std::string& file, const std::string& kind) {
  std::ifstream in(file);
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(in, line);) {
    auto row = nlohmann::json::parse(line);
    if (row["kind"] == kind) rows.push_back(std::move(row));
  }
  return rows;
}

std::string latin1(const std::string& utf8) {
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    out +=
        c < 0x80
            ? utf8[i]
            : static_cast<char>((c & 3U) << 6U | (static_cast<unsigned char>(utf8[++i]) & 0x3fU));
  }
  return out;
}

std::string raw_of(const nlohmann::json& row) {
  if (row.contains("raw")) return row["raw"].is_null() ? "" : latin1(row["raw"]);
  std::string out;
  for (const auto& part : row["parts"]) {
    const auto text = latin1(part[0]);
    for (int i = 0; i < part[1].get<int>(); ++i) out += text;
  }
  return out;
}

}  // namespace steelyard::rigs
