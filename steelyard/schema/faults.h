// What a struct's own `check` finds: faults of single values that no limit can say, and of values
// beside each other.
//
// A check runs whatever was wrong with some of the fields, so that all is told at once. What is
// told already has its default in the struct, or a value without sense: a fault of such a key is
// left out, and a check that compares a key with others asks `good` for these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace steelyard::schema {

// `key` names the field to point at (empty: the struct itself).
struct Fault {
  std::string key;
  std::string text;  // goes on from the key's name: "is longer than interval (10s)"
  bool warning = false;
};

struct Faults {
  std::vector<Fault> list;
  std::vector<std::string> told;  // keys and paths below the struct with an error so far

  // Nothing is told of `key`, of what it is part of and of what is part of it.
  [[nodiscard]] bool good(std::string_view key) const;
  void error(std::string_view key, std::string text) { add(key, std::move(text), false); }
  void warn(std::string_view key, std::string text) { add(key, std::move(text), true); }

 private:
  void add(std::string_view key, std::string text, bool warning);
};

}  // namespace steelyard::schema
