// Pattern: a regular expression over the bytes of a path, a host or a field value; RE2's syntax,
// without look-around and back references.
//
// Time to match is linear in the subject, whatever the expression and the subject are. Subjects are
// bytes: `.` is any byte but LF, classes are ASCII, and letters beyond it match only as written.
// Caps: an expression has at most kMaxText bytes and compiles to at most kMaxMemory bytes, its
// automaton included. Matching may be called from several threads at once; RE2 then shares the
// automaton under a reader lock, so on the request path each worker has a Pattern of its own, and
// memory is taken only until its automaton is warm.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "steelyard/base/result.h"

namespace re2 {
class RE2;
}

namespace steelyard::http {

class Pattern {
 public:
  static constexpr std::size_t kMaxText = 1024;
  static constexpr std::size_t kMaxMemory = std::size_t{1} << 20;

  // Errors (kInvalid, kLimit; origin: operator) say what is wrong, where (columns from 1) and in
  // which expression.
  [[nodiscard]] static base::Result<Pattern> compile(std::string_view text,
                                                     bool ignore_case = false);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  [[nodiscard]] bool matches(std::string_view subject) const noexcept;   // all of it
  [[nodiscard]] bool found_in(std::string_view subject) const noexcept;  // some part of it
  // False: no subject that it matches as a whole begins with this. True may be wrong.
  [[nodiscard]] bool may_begin_with(char first) const;
  // Instructions it compiled to: what compiling costs grows with them.
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] std::string_view text() const noexcept;
  [[nodiscard]] bool ignores_case() const noexcept;

 private:
  explicit Pattern(std::unique_ptr<re2::RE2> compiled) noexcept;
  std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace steelyard::http
