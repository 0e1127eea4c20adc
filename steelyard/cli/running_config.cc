#include "steelyard/cli/running_config.h"

#include <charconv>
#include <fmt/format.h>

#include "steelyard/io/crypto.h"
#include "steelyard/io/file.h"

namespace steelyard::cli {
namespace {

constexpr std::string_view kFirstLine = "steelyard-config 1\n";

}  // namespace

void RunningConfig::took(const Source& source, std::int64_t when) {
  const bool from_file = !source.text.empty();
  running_ = {source.name, source.text, when};
  sha256_ = from_file ? io::to_hex(io::sha256(source.text)) : "";
  difference_.clear();
  unusable_ = false;
  unjudged_.reset();
  verdict_.reset();
}

// Two lines (the second: when it was taken, bytes of the name), the name, the text.
std::string RunningConfig::record() const {
  if (running_.text.empty()) return {};
  return std::string(kFirstLine) + std::to_string(running_.taken) + " " +
         std::to_string(running_.name.size()) + "\n" + running_.name + running_.text;
}

std::optional<RunningConfig::Kept> RunningConfig::kept(std::string_view record) {
  if (!record.starts_with(kFirstLine)) return std::nullopt;
  record.remove_prefix(kFirstLine.size());
  Kept out;
  std::size_t name = 0;
  const char* const end = record.data() + record.size();
  const auto taken = std::from_chars(record.data(), end, out.taken);
  if (taken.ec != std::errc{} || taken.ptr == end || *taken.ptr != ' ') return std::nullopt;
  const auto length = std::from_chars(taken.ptr + 1, end, name);
  if (length.ec != std::errc{} || length.ptr == end || *length.ptr != '\n') return std::nullopt;
  record.remove_prefix(static_cast<std::size_t>(length.ptr + 1 - record.data()));
  if (name > record.size()) return std::nullopt;
  out.name = record.substr(0, name);
  out.text = record.substr(name);
  return out;
}

std::string RunningConfig::place_of(std::string_view key) const {
  if (running_.text.empty()) return {};
  const auto place = config::place_of(running_.text, key);
  return fmt::format("{}:{}:{}: ", running_.name, place.line, place.column);
}

const std::string& RunningConfig::look() {
  difference_.clear();
  unusable_ = false;
  unjudged_.reset();
  if (running_.text.empty()) return difference_;
  auto text = io::read_file(running_.name);
  if (!text) {
    difference_ = "cannot be read: " + text.error().describe();
    unusable_ = true;
  } else if (*text != running_.text) {
    if (verdict_ && verdict_->text == *text) {
      difference_ = verdict_->difference;
      unusable_ = verdict_->unusable;
    } else {
      difference_ = "was changed and not read since; it is being checked";
      unjudged_ = std::move(*text);
    }
  }
  return difference_;
}

const std::string* RunningConfig::unjudged() const noexcept {
  return unjudged_ ? &*unjudged_ : nullptr;
}

void RunningConfig::judged(Verdict verdict) {
  verdict_ = std::move(verdict);
  (void)look();
}

RunningConfig::Verdict RunningConfig::judge(const std::string& name, std::string text) {
  return verdict_of(load_text(name, std::move(text)));
}

RunningConfig::Verdict RunningConfig::verdict_of(const Source& source) {
  if (source.document == nullptr) {
    return {source.text, "is broken: " + std::string(first_error(source)), true};
  }
  return {source.text, "was changed and not read since; HUP takes it", false};
}

void RunningConfig::refused(const Source& source, std::string_view reason) {
  judged({source.text, "was refused: " + std::string(reason), true});
}

}  // namespace steelyard::cli
