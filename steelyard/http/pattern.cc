#include "steelyard/http/pattern.h"

#include <algorithm>
#include <re2/re2.h>
#include <vector>

namespace steelyard::http {
namespace {

// Where the parenthesis stands that has no partner: RE2 names the whole expression for those.
std::size_t lonely_parenthesis(std::string_view text) {
  std::vector<std::size_t> open;
  bool in_class = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      ++i;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
      if (i + 1 < text.size() && text[i + 1] == '^') ++i;
      if (i + 1 < text.size() && text[i + 1] == ']') ++i;  // a first `]` is itself
    } else if (c == '(') {
      open.push_back(i);
    } else if (c == ')') {
      if (open.empty()) return i;
      open.pop_back();
    }
  }
  return open.empty() ? 0 : open.back();
}

std::size_t place_of(const re2::RE2& bad, std::string_view text) {
  switch (bad.error_code()) {
    case re2::RE2::ErrorMissingParen:
    case re2::RE2::ErrorUnexpectedParen:
      return lonely_parenthesis(text);
    case re2::RE2::ErrorTrailingBackslash:
      return text.size() - 1;
    default:
      break;
  }
  const std::size_t at = text.find(bad.error_arg());
  return at == std::string_view::npos ? 0 : at;
}

base::Error error_of(const re2::RE2& bad, std::string_view text) {
  const bool limit = bad.error_code() == re2::RE2::ErrorPatternTooLarge;
  std::string say = "regular expression \"" + std::string(text) + "\": ";
  if (limit) {
    say += "needs more than " + std::to_string(Pattern::kMaxMemory) + " bytes of memory";
  } else {
    say += "column " + std::to_string(place_of(bad, text) + 1) + ": " + bad.error();
  }
  return {limit ? base::Code::kLimit : base::Code::kInvalid, base::Origin::kOperator, false,
          std::move(say)};
}

}  // namespace

base::Result<Pattern> Pattern::compile(std::string_view text, bool ignore_case) {
  if (text.size() > kMaxText) {
    return base::Error{base::Code::kLimit, base::Origin::kOperator, false,
                       "regular expression: has " + std::to_string(text.size()) +
                           " bytes, may have " + std::to_string(kMaxText)};
  }
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_case_sensitive(!ignore_case);
  options.set_never_capture(true);
  options.set_log_errors(false);
  options.set_max_mem(static_cast<std::int64_t>(kMaxMemory));
  auto compiled = std::make_unique<re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!compiled->ok()) return error_of(*compiled, text);
  return Pattern(std::move(compiled));
}

Pattern::Pattern(std::unique_ptr<re2::RE2> compiled) noexcept : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

bool Pattern::matches(std::string_view subject) const noexcept {
  return re2::RE2::FullMatch(re2::StringPiece(subject.data(), subject.size()), *compiled_);
}

bool Pattern::found_in(std::string_view subject) const noexcept {
  return re2::RE2::PartialMatch(re2::StringPiece(subject.data(), subject.size()), *compiled_);
}

bool Pattern::may_begin_with(char first) const {
  std::string least, most;
  if (!compiled_->PossibleMatchRange(&least, &most, 8)) return true;
  // From `first` alone to the last text that begins with it.
  const std::string begin(1, first);
  return most >= begin && (least < begin || least.front() == first);
}

std::size_t Pattern::size() const noexcept {
  return static_cast<std::size_t>(std::max(0, compiled_->ProgramSize()));
}
std::string_view Pattern::text() const noexcept { return compiled_->pattern(); }
bool Pattern::ignores_case() const noexcept { return !compiled_->options().case_sensitive(); }

}  // namespace steelyard::http
