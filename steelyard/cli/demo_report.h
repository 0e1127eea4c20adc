// What the demo shows: the live table, decisions as they come, and the comparison at the end. Pure
// text from values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "steelyard/base/histogram.h"
#include "steelyard/base/time.h"
#include "steelyard/control/view.h"

namespace steelyard::cli {

// What the clients of one side saw, by phase of the demo. Latency counts from the moment a request
// was due, not from when it could be sent; a request without an answer is an error.
enum class Phase : std::uint8_t { kHealthy, kIll, kRecovered };
inline constexpr std::size_t kPhases = 3;
[[nodiscard]] std::string_view to_text(Phase phase) noexcept;

struct PhaseStats {
  base::Histogram latency;     // answered requests
  std::uint64_t answered = 0;  // status below 500
  std::uint64_t errors = 0;    // status from 500, broken, timed out
  base::Duration worst{};
};
using DemoStats = std::array<PhaseStats, kPhases>;

// One node as a row; `p50` and the like come from the last second.
struct DemoRow {
  std::string name;
  unsigned cores = 0;
  double weight = 0, share_wanted = 0, rate = 0;
  std::optional<double> share_seen, score;
  std::optional<base::Duration> p50, p99;
  std::uint64_t errors = 0;
  std::string state;
  std::string last;  // last decision in words
};

// Rows from a view; `cores` by position.
[[nodiscard]] std::vector<DemoRow> demo_rows(const control::UpstreamView& view,
                                             std::span<const unsigned> cores);
// A table of `width` columns; the last decision stands beside its node, or below it where there is
// little room, and is cut to what fits.
[[nodiscard]] std::string render_table(std::span<const DemoRow> rows, std::size_t width);
// The last lines of `text` that fit into `rows` of `columns`, each cut to its row.
[[nodiscard]] std::string last_lines(const std::string& text, std::size_t rows,
                                     std::size_t columns);
// Both sides' phases side by side, and a sentence on the phase of the illness.
[[nodiscard]] std::string render_summary(const DemoStats& steelyard, const DemoStats& fixed);

}  // namespace steelyard::cli
