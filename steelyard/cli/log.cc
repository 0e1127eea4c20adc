#include "steelyard/cli/log.h"

#include <fmt/format.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/output.h"

namespace steelyard::cli {
namespace {

bool plain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u <= 0x20 || u == 0x7f || c == '"' || c == '\\' || c == '=') return false;
  }
  return true;
}

void append_value(std::string& out, std::string_view text) {
  if (plain(text)) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u == 0x7f) {
      out += fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

std::string log_line(std::string_view time, std::string_view event, LogFields fields) {
  std::string out = fmt::format("{} {}", time, event);
  for (const auto& [key, value] : fields) {
    out += fmt::format(" {}=", key);
    append_value(out, value);
  }
  out += '\n';
  return out;
}

void Log::event(std::string_view event, LogFields fields) {
  if (fd_ < 0) return;
  const auto time = io::rfc3339(io::wall_now());
  if (!io::write_without_waiting(fd_, log_line(time, event, fields))) {
    ++dropped_;
    return;
  }
  if (dropped_ == told_) return;
  const auto count = fmt::format("{}", dropped_ - told_);
  if (io::write_without_waiting(fd_, log_line(time, "log_dropped", {{"lines", count}}))) {
    told_ = dropped_;
  }
}

}  // namespace steelyard::cli
