#include "steelyard/io/process_status.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>

namespace steelyard::io {
namespace {

// "key value" with a tab between two of them.
class Writer {
 public:
  template <std::integral T>
  void add(std::string_view key, T value) {
    add(key, std::to_string(value));
  }
  void add(std::string_view key, std::string value) {
    std::ranges::replace_if(value, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    out_.append(key).append(" ").append(value).append("\t");
  }
  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

template <std::integral T>
bool read(std::string_view text, T& to) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), to);
  return failed == std::errc{} && end == text.data() + text.size();
}

// The part before the first `separator`, which goes too.
std::string_view cut(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool read(std::string_view text, ProcessStatus::Draining& to) {
  if (!read(cut(text, ' '), to.pid) || !read(cut(text, ' '), to.generation) ||
      !read(cut(text, ' '), to.since)) {
    return false;
  }
  to.holding = Holding::parse(text);
  return text.empty() || to.holding.has_value();
}

bool take(ProcessStatus& out, std::string_view key, std::string_view value) {
  if (key == "supervisor") return read(value, out.supervisor);
  if (key == "started") return read(value, out.started);
  if (key == "generation") return read(value, out.generation);
  if (key == "crashes") return read(value, out.crashes);
  if (key == "last_crash") return read(value, out.last_crash);
  if (key == "crashed_pid") return read(value, out.crashed_pid);
  if (key == "crash_limit") return read(value, out.crash_limit);
  if (key == "crash_window") return read(value, out.crash_window);
  if (key == "upgrades") return read(value, out.upgrades);
  if (key == "failed_upgrades") return read(value, out.failed_upgrades);
  if (key == "upgrade_failed") return read(value, out.upgrade_failed);
  if (key == "upgrading") return out.upgrading = value == "1", value == "0" || value == "1";
  if (key == "crashed_how") return out.crashed_how = value, true;
  if (key == "upgrade_failure") return out.upgrade_failure = value, true;
  if (key == "crash") return read(value, out.recent_crashes.emplace_back());
  return key == "draining" && read(value, out.draining.emplace_back());
}

}  // namespace

std::string Holding::to_text() const {
  return std::to_string(connections) + " " + std::to_string(exchanges) + " " +
         std::to_string(tunnels);
}

std::optional<Holding> Holding::parse(std::string_view text) {
  Holding out;
  if (!read(cut(text, ' '), out.connections) || !read(cut(text, ' '), out.exchanges) ||
      !read(text, out.tunnels)) {
    return std::nullopt;
  }
  return out;
}

std::string ProcessStatus::to_text() const {
  Writer out;
  out.add("supervisor", supervisor);
  out.add("started", started);
  out.add("generation", generation);
  out.add("crashes", crashes);
  out.add("last_crash", last_crash);
  out.add("crashed_pid", crashed_pid);
  out.add("crashed_how", crashed_how);
  out.add("crash_limit", crash_limit);
  out.add("crash_window", crash_window);
  for (const auto when : recent_crashes) out.add("crash", when);
  out.add("upgrades", upgrades);
  out.add("failed_upgrades", failed_upgrades);
  out.add("upgrading", int{upgrading});
  out.add("upgrade_failed", upgrade_failed);
  out.add("upgrade_failure", upgrade_failure);
  for (const auto& one : draining) {
    out.add("draining", std::to_string(one.pid) + " " + std::to_string(one.generation) + " " +
                            std::to_string(one.since) +
                            (one.holding ? " " + one.holding->to_text() : std::string()));
  }
  return std::move(out).take();
}

std::optional<ProcessStatus> ProcessStatus::parse(std::string_view text) {
  ProcessStatus out;
  while (!text.empty()) {
    auto value = cut(text, '\t');
    const auto key = cut(value, ' ');
    if (!take(out, key, value)) return std::nullopt;
  }
  return out;
}

}  // namespace steelyard::io
