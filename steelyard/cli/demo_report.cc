#include "steelyard/cli/demo_report.h"

#include <algorithm>
#include <fmt/format.h>

namespace steelyard::cli {
namespace {

using base::Duration;

std::string milliseconds(std::optional<Duration> d) {
  if (!d) return "-";
  const double ms = base::seconds(*d) * 1e3;
  return ms < 100 ? fmt::format("{:.1f}", ms) : fmt::format("{:.0f}", ms);
}

std::string percent(std::optional<double> share) {
  return share ? fmt::format("{:.1f}%", *share * 100) : "-";
}

// At most `columns` characters of UTF-8 text, an ellipsis where it was cut.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t seen = 0;
  std::size_t keep = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U;
    if (!begins) continue;
    ++seen;
    if (seen == columns) keep = i;
    if (seen > columns) return columns == 0 ? "" : text.substr(0, keep) + "…";
  }
  return text;
}

std::string factor(std::optional<Duration> fixed, std::optional<Duration> ours) {
  if (!fixed || !ours || *ours <= Duration::zero()) return "";
  return fmt::format("{:.1f}×", base::seconds(*fixed) / base::seconds(*ours));
}

}  // namespace

std::string_view to_text(Phase phase) noexcept {
  switch (phase) {
    case Phase::kHealthy:
      return "all healthy";
    case Phase::kIll:
      return "one node ill";
    case Phase::kRecovered:
      return "recovered";
  }
  return "unknown";
}

std::vector<DemoRow> demo_rows(const control::UpstreamView& view, std::span<const unsigned> cores) {
  std::vector<DemoRow> rows;
  for (std::size_t i = 0; i < view.nodes.size(); ++i) {
    const auto& node = view.nodes[i];
    DemoRow row;
    row.name = node.name;
    row.cores = i < cores.size() ? cores[i] : 0;
    row.weight = node.effective;
    row.share_wanted = node.share_wanted;
    row.share_seen = node.share_seen;
    row.rate = node.rate;
    if (node.seen.score) row.score = node.seen.score->value;
    if (node.seen.latency_p50) row.p50 = node.seen.latency_p50->value;
    if (node.seen.latency_p99) row.p99 = node.seen.latency_p99->value;
    row.errors = node.counts.failures + node.counts.connect_failures;
    row.state = node.ramp < 1 ? "ramp" : std::string(model::to_text(node.eligibility));
    row.last = node.last_decision;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string render_table(std::span<const DemoRow> rows, std::size_t width) {
  constexpr std::size_t kFixed = 76;     // columns before the decision
  constexpr std::size_t kReadable = 50;  // fewer for the decision, and it gets a line of its own
  const bool beside = width >= kFixed + kReadable;
  std::string out = fmt::format("{:<7}{:>5}{:>7}{:>8}{:>8}{:>7}{:>7}{:>7}{:>5}{:>6}  {:<7}{}\n",
                                "node", "cores", "weight", "wanted", "seen", "req/s", "P50ms",
                                "P99ms", "err", "score", "state", beside ? "last decision" : "");
  for (const auto& row : rows) {
    out += fmt::format("{:<7}{:>5}{:>7.2f}{:>8}{:>8}{:>7.0f}{:>7}{:>7}{:>5}{:>6}  {:<7}", row.name,
                       row.cores, row.weight, percent(row.share_wanted), percent(row.share_seen),
                       row.rate, milliseconds(row.p50), milliseconds(row.p99), row.errors,
                       row.score ? fmt::format("{:.0f}", *row.score) : "-", row.state);
    if (beside) {
      out += cut(row.last, width - kFixed) + "\n";
    } else {
      out += row.last.empty() ? "\n" : "\n    " + cut(row.last, width > 4 ? width - 4 : 0) + "\n";
    }
  }
  return out;
}

std::string last_lines(const std::string& text, std::size_t rows, std::size_t columns) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back(cut(text.substr(at, end - at), columns));
    at = end + 1;
  }
  std::string out;
  for (std::size_t i = lines.size() > rows ? lines.size() - rows : 0; i < lines.size(); ++i) {
    out += lines[i] + "\n";
  }
  return out;
}

std::string render_summary(const DemoStats& steelyard, const DemoStats& fixed) {
  std::string out = fmt::format("{:<13}{:>31}{:>31}\n{:<13}{:>9}{:>11}{:>11}{:>9}{:>11}{:>11}\n",
                                "", "Steelyard", "static weights", "phase", "errors", "P50 ms",
                                "P99 ms", "errors", "P50 ms", "P99 ms");
  for (std::size_t i = 0; i < kPhases; ++i) {
    const auto& a = steelyard[i];
    const auto& b = fixed[i];
    if (a.answered + a.errors + b.answered + b.errors == 0) continue;
    out += fmt::format(
        "{:<13}{:>9}{:>11}{:>11}{:>9}{:>11}{:>11}\n", to_text(static_cast<Phase>(i)), a.errors,
        milliseconds(a.latency.quantile(0.5)), milliseconds(a.latency.quantile(0.99)), b.errors,
        milliseconds(b.latency.quantile(0.5)), milliseconds(b.latency.quantile(0.99)));
  }
  const auto& ours = steelyard[static_cast<std::size_t>(Phase::kIll)];
  const auto& theirs = fixed[static_cast<std::size_t>(Phase::kIll)];
  const auto ours99 = ours.latency.quantile(0.99);
  const auto theirs99 = theirs.latency.quantile(0.99);
  const auto times = factor(theirs99, ours99);
  if (!times.empty()) {
    out += fmt::format(
        "\nWhile a node was ill: P99 {} ms and {} errors with Steelyard, {} ms and {} errors with "
        "static weights ({} apart).\n",
        milliseconds(ours99), ours.errors, milliseconds(theirs99), theirs.errors, times);
  }
  return out;
}

}  // namespace steelyard::cli
