// Command-line flags of the rigs: `--name value` and `--name=value`, bare words, and nothing
// unknown.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard::rigs {

class Args {
 public:
  // `switches` are the flags without a value.
  Args(int argc, char** argv, const std::set<std::string>& switches = {}) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view word = argv[i];
      if (!word.starts_with("--")) {
        words_.emplace_back(word);
        continue;
      }
      const auto equal = word.find('=');
      const std::string name(word.substr(2, equal == word.npos ? word.npos : equal - 2));
      if (equal != word.npos) {
        values_[name] = word.substr(equal + 1);
      } else if (switches.contains(name) || i + 1 >= argc) {
        values_[name] = "";
      } else {
        values_[name] = argv[++i];
      }
    }
  }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[nodiscard]] bool has(const std::string& name) {
    asked_.insert(name);
    return values_.contains(name);
  }
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise = {}) {
    return has(name) ? values_[name] : otherwise;
  }
  [[nodiscard]] double number(const std::string& name, double otherwise) {
    return has(name) ? std::strtod(values_[name].c_str(), nullptr) : otherwise;
  }
  [[nodiscard]] int whole(const std::string& name, int otherwise) {
    return static_cast<int>(number(name, otherwise));
  }
  // After all flags were asked for: false, with a line on stderr, when one is left over.
  [[nodiscard]] bool all_known() const {
    for (const auto& [name, value] : values_) {
      if (asked_.contains(name)) continue;
      std::fprintf(stderr, "unknown flag --%s\n", name.c_str());
      return false;
    }
    return true;
  }

 private:
  std::map<std::string, std::string> values_;
  std::set<std::string> asked_;
  std::vector<std::string> words_;
};

}  // namespace steelyard::rigs
