#include "steelyard/probe/score_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace steelyard::probe {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

enum Known : unsigned { kScore, kGcCount, kActiveThreads, kAverageResponse, kMemory, kCpu, kKnown };
constexpr std::string_view kNames[kKnown] = {
    "score", "gcCount", "activeThreads", "avgResponseTimeMs", "memoryUsagePct", "cpuUsagePct"};

std::string printed(double value) {
  std::string text = std::to_string(value);  // 6 digits behind the point: drop the zeros
  while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
    const bool point = text.back() == '.';
    text.pop_back();
    if (point) break;
  }
  return text;
}

// Takes the parser's events; remembers only the known fields of the outermost object.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  model::LoadReport report;
  std::string problem;

  bool null() override { return value("null", true); }
  bool boolean(bool) override { return value("a boolean", false); }
  bool string(string_t&) override { return value("a string", false); }
  bool binary(binary_t&) override { return value("binary", false); }
  bool number_integer(number_integer_t n) override { return number(static_cast<double>(n), true); }
  bool number_unsigned(number_unsigned_t n) override {
    return number(static_cast<double>(n), true);
  }
  bool number_float(number_float_t n, const string_t&) override { return number(n, false); }
  bool start_object(std::size_t) override { return open("an object"); }
  bool start_array(std::size_t) override { return open("a list"); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    current_ = kKnown;
    for (unsigned i = 0; i < kKnown; ++i) {
      if (name != kNames[i]) continue;
      if ((seen_ & 1U << i) != 0) return fail(name + " stands there twice");
      seen_ |= 1U << i;
      current_ = i;
    }
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    if (problem.empty()) problem = "not JSON, at byte " + std::to_string(at);
    return false;
  }

 private:
  bool fail(std::string text) {
    problem = std::move(text);
    return false;
  }
  [[nodiscard]] bool known_here() const { return depth_ == 1 && current_ != kKnown; }
  bool value(std::string_view what, bool absent) {
    if (depth_ == 0) return fail("not an object");
    if (known_here() && !absent)
      return fail(std::string(kNames[current_]) + " is " + std::string(what) +
                  ", must be a number");
    return true;
  }
  bool open(std::string_view what) {
    if (depth_ == 0 && what != "an object") return fail("not an object");
    if (depth_ >= 1 && !value(what, false)) return false;
    if (++depth_ > kMaxDepth) return fail("nested too deep");
    return true;
  }
  bool number(double n, bool whole) {
    if (depth_ == 0) return fail("not an object");
    if (!known_here()) return true;
    const bool percent = current_ == kScore || current_ == kMemory || current_ == kCpu;
    if (!std::isfinite(n) || n < 0 || (percent && n > 100)) {
      const std::string range = percent ? "0 to 100" : "0 or more";
      return fail(std::string(kNames[current_]) + " is " + printed(n) + ", must be " + range);
    }
    switch (current_) {
      case kScore:
        report.score = n;
        break;
      case kGcCount:
        if (!whole && (n != std::floor(n) ||
                       n > 9007199254740992.0)) {  // 2^53: above it doubles skip whole numbers
          return fail("gcCount is " + printed(n) + ", must be whole");
        }
        report.gc_count = static_cast<std::uint64_t>(n);
        break;
      case kActiveThreads:
        report.active_threads = n;
        break;
      case kAverageResponse:
        if (n > 1e9)
          return fail("avgResponseTimeMs is " + printed(n) + ", must be at most 1000000000");
        report.average_response = base::from_seconds(n / 1000);
        break;
      case kMemory:
        report.memory = n / 100;
        break;
      default:
        report.utilisation = n / 100;
        break;
    }
    return true;
  }

  int depth_ = 0;
  unsigned current_ = kKnown;
  unsigned seen_ = 0;
};

}  // namespace

base::Result<model::LoadReport> read_score(std::string_view body) {
  const auto bad = [](std::string text) {
    return base::Error{base::Code::kInvalid, base::Origin::kNode, false, std::move(text)};
  };
  if (body.size() > kMaxBytes) return bad("larger than 64 KiB");
  if (body.substr(0, 3) == "\xef\xbb\xbf") return bad("starts with a byte order mark");
  Reader reader;
  if (!nlohmann::json::sax_parse(body.begin(), body.end(), &reader)) {
    return bad(reader.problem.empty() ? "not JSON" : reader.problem);
  }
  return reader.report;
}

}  // namespace steelyard::probe
