// Reading and writing files in tests.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace steelyard::config {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace steelyard::config
