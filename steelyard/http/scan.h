// The scan of a head's lines: finds their ends, checks every byte, recognises the known fields. One
// pass, resumable.
//
// Works on a contiguous text that starts with the first byte of the head and may end anywhere. A
// line is judged only when its LF is there, and limits are looked at before anything else, so that
// the verdict does not depend on how the bytes were cut. `ScanProgress` remembers where the first
// unjudged line starts; with the same text grown at its end the scan goes on from there. Fields are
// written only while `fields` has room, and are views into `text`: when the text has moved since
// the scan began, scan it again from a fresh progress. The inner loops are those of the processor
// (scan_kernels.h); the verdict is the same with each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "steelyard/http/codec.h"

namespace steelyard::http {

enum class ScanKind : std::uint8_t { kRequest, kResponse, kTrailers };

struct ScanLimits {
  std::size_t max_bytes;  // of all lines
  std::size_t max_fields;
  std::size_t max_line;  // of the start line
};

struct ScanProgress {
  std::size_t line_at = 0;  // start of the first line that was not judged yet
  std::size_t seen = 0;     // no LF between line_at and here
  std::size_t fields = 0;
  bool started = false;  // the start line is done
  bool untidy = false;  // an answer with blanks before a colon: it must not be passed on as it came
};

enum class ScanState : std::uint8_t { kMore, kDone, kBad };

struct StartLine {  // of a request: three words; of an answer: version, status, reason
  std::string_view first, second, third;
};

// kDone: progress.line_at is the head's size with its empty line. kBad: `bad` says why.
[[nodiscard]] ScanState scan_head(std::string_view text, ScanKind kind, const ScanLimits& limits,
                                  ScanProgress& progress, StartLine& start, std::span<Field> fields,
                                  Reset& bad) noexcept;
struct ScanKernels;
[[nodiscard]] ScanState scan_head(std::string_view text, ScanKind kind, const ScanLimits& limits,
                                  ScanProgress& progress, StartLine& start, std::span<Field> fields,
                                  Reset& bad, const ScanKernels& kernels) noexcept;

}  // namespace steelyard::http
