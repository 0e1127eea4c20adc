// Any bytes as a configuration: never a crash, never a document beside an error, and each problem
// has a place in the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "steelyard/config/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto loaded = steelyard::config::load(text, "f");
  if (loaded.ok() != loaded.problems.ok()) std::abort();
  std::uint32_t lines = 2;  // what stands open ends on the line after the last
  for (const char c : text) lines += c == '\n' || c == '\r' ? 1U : 0U;
  // U+0085, U+2028 and U+2029 end a line too.
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    lines += text.substr(i).starts_with("\xc2\x85") || text.substr(i).starts_with("\xe2\x80\xa8") ||
                     text.substr(i).starts_with("\xe2\x80\xa9")
                 ? 1U
                 : 0U;
  }
  for (const auto& problem : loaded.problems.list()) {
    if (problem.place.line == 0 || problem.place.column == 0 || problem.place.line > lines)
      std::abort();
  }
  (void)loaded.report();
  if (loaded.ok()) (void)steelyard::config::brain_setup(*loaded.document);
  return 0;
}
