// The program as people call it, in a folder of the test's own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>

#include "test/paths.h"

namespace steelyard::cli {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Outcome {
  int code = -1;
  std::string out, err;
};

class Commands : public ::testing::Test {
 protected:
  Commands() {
    std::string name = (std::filesystem::temp_directory_path() / "steelyard-cli.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    dir_ = name;
  }
  ~Commands() override { std::filesystem::remove_all(dir_); }

  // `arguments` as a shell reads them; `before` are assignments of the environment.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    const std::string command = "cd " + dir_.string() + " && " + before + " timeout 20 " +
                                test::binary() + " " + arguments + " >out 2>err </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(dir_ / "out"),
            read_text(dir_ / "err")};
  }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(dir_ / name) << text;
  }

  std::filesystem::path dir_;
};

inline constexpr std::string_view kHead =
    "listeners:\n  - address: 127.0.0.1:8080\n    routes: [{ upstream: api }]\nupstreams:\n"
    "  api:\n";
inline constexpr std::string_view kNodes = "    nodes: [127.0.0.1:8081, 127.0.0.1:8082]\n";
inline const std::string kGood = std::string(kHead) + std::string(kNodes);

}  // namespace steelyard::cli
