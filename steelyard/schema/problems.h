// Problems: everything that is wrong with a document, collected, not thrown at the first.
//
// Errors make the document unusable; warnings are told and the document is used. Sorted by place,
// each line is
//   file:line:column: path.to.key: what is wrong
// and a warning says "warning:" before its path. One thread; a plain value.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/schema/tree.h"

namespace steelyard::schema {

struct Problem {
  Place place;
  std::string path;  // empty: the document
  std::string text;
  bool warning = false;
  friend bool operator==(const Problem&, const Problem&) = default;
};

// All are counted; of errors and of warnings the first kMost found are kept, so that a text that is
// wrong everywhere costs no more than its size.
class Problems {
 public:
  static constexpr std::size_t kMost = 1000;

  void error(Place place, std::string_view path, std::string text);
  void warn(Place place, std::string_view path, std::string text);

  [[nodiscard]] bool ok() const noexcept { return errors_ == 0; }
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }
  [[nodiscard]] std::size_t warnings() const noexcept { return warnings_; }
  // Sorted by place; those of one place in the order they were found.
  [[nodiscard]] std::span<const Problem> list() const noexcept { return list_; }
  // Paths of the errors that are kept, in the order they were found: what came since is behind the
  // count of then.
  [[nodiscard]] std::span<const std::string> error_paths() const noexcept { return error_paths_; }
  // One line a problem, each ended by a newline; a last one says how many are not told.
  [[nodiscard]] std::string render(std::string_view file) const;

 private:
  void add(Problem problem);
  std::vector<Problem> list_;
  std::vector<std::string> error_paths_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

// ", did you mean "x"?" for the nearest known word, else ", known are a, b, c", or nothing when
// there are none.
[[nodiscard]] std::string suggestion(std::string_view word,
                                     std::span<const std::string_view> known);

}  // namespace steelyard::schema
