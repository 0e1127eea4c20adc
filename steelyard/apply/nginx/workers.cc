#include "steelyard/apply/nginx/workers.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "steelyard/io/file.h"

namespace steelyard::apply::nginx {
namespace {

constexpr std::size_t kMost = std::size_t{64} << 10;

template <typename Number>
std::optional<Number> number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  Number out{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// Field `n` (from 1) of /proc/PID/stat; the second, in parentheses, may hold blanks.
std::string_view stat_field(std::string_view stat, int n) {
  const auto close = stat.rfind(')');
  if (close == std::string_view::npos) return {};
  stat.remove_prefix(close + 1);
  for (int field = 2;; ++field) {
    const auto from = stat.find_first_not_of(' ');
    if (from == std::string_view::npos) return {};
    stat.remove_prefix(from);
    const auto to = std::min(stat.find(' '), stat.size());
    if (field + 1 == n) return stat.substr(0, to);
    stat.remove_prefix(to);
  }
}

void add_child(Workers& out, const std::string& proc, int pid) {
  const std::string dir = proc + "/" + std::to_string(pid);
  const auto title = io::read_file(dir + "/cmdline", kMost);
  const auto stat = io::read_file(dir + "/stat", kMost);
  if (!title || !stat) return;  // gone meanwhile
  const std::string_view words = std::string_view(*title).substr(0, title->find('\0'));
  if (!words.starts_with("nginx: worker process")) return;  // cache manager, or not yet renamed
  if (words.find("shutting down") != std::string_view::npos) {
    ++out.old;
  } else if (stat_field(*stat, 3) != "Z") {
    out.active.push_back({pid, number<std::uint64_t>(stat_field(*stat, 22)).value_or(0)});
  }
}

}  // namespace

bool new_generation(const Workers& before, const Workers& now) noexcept {
  if (now.master == 0 || now.active.empty()) return false;
  return std::none_of(now.active.begin(), now.active.end(), [&](const Worker& w) {
    return std::find(before.active.begin(), before.active.end(), w) != before.active.end();
  });
}

Workers read_workers(const std::string& pid_file, const std::string& proc) {
  Workers out;
  const auto text = io::read_file(pid_file, kMost);
  if (!text) {
    out.why = text.error().describe();
    return out;
  }
  const auto master = number<int>(*text);
  if (!master || *master <= 0) {
    out.why = pid_file + " holds no process id";
    return out;
  }
  const std::string id = std::to_string(*master);
  const auto children = io::read_file(proc + "/" + id + "/task/" + id + "/children", kMost);
  if (!children) {
    out.why = "process " + id + " of " + pid_file + " does not run";
    return out;
  }
  const auto title = io::read_file(proc + "/" + id + "/cmdline", kMost);
  if (!title || !title->starts_with("nginx: master process")) {
    out.why = "process " + id + " of " + pid_file + " is not an Nginx master";
    return out;
  }
  out.master = *master;
  std::string_view rest = *children;
  while (!rest.empty()) {
    const auto to = std::min(rest.find(' '), rest.size());
    if (const auto pid = number<int>(rest.substr(0, to))) add_child(out, proc, *pid);
    rest.remove_prefix(std::min(to + 1, rest.size()));
  }
  std::sort(out.active.begin(), out.active.end());
  return out;
}

}  // namespace steelyard::apply::nginx
