#include "steelyard/admin/exposition.h"

#include <array>
#include <cmath>
#include <fmt/format.h>

namespace steelyard::admin {
namespace {

constexpr std::array kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                             0.1,    0.25,  0.5,    1.0,   2.5,  5.0,   10.0};

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

void escape(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

// How many of the histogram's values are at most `bound` seconds.
double below(const base::Histogram& histogram, double bound) {
  using Shape = base::HistogramShape;
  double count = 0;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const double low = static_cast<double>(Shape::lower(i)) * 1e-6;
    const double high = static_cast<double>(Shape::lower(i + 1)) * 1e-6;
    if (low >= bound) break;
    const double part = high <= bound ? 1.0 : (bound - low) / (high - low);
    count += part * histogram.counts()[i];
  }
  return std::floor(count);
}

double sum_of(const base::Histogram& histogram) {
  using Shape = base::HistogramShape;
  double sum = 0;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const auto middle = static_cast<double>(Shape::lower(i) + Shape::lower(i + 1)) / 2;
    sum += middle * 1e-6 * histogram.counts()[i];
  }
  return sum;
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = fmt::format("steelyard_{}", name);
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, type);
}

void Exposition::line(std::string_view suffix, Labels labels, std::string_view le,
                      std::string_view value) {
  text_ += name_;
  text_ += suffix;
  if (labels.size() != 0 || !le.empty()) {
    char separator = '{';
    const auto add = [&](std::string_view key, std::string_view label) {
      text_ += separator;
      text_ += key;
      text_ += "=\"";
      escape(text_, label);
      text_ += '"';
      separator = ',';
    };
    for (const auto& [key, label] : labels) add(key, label);
    if (!le.empty()) add("le", le);
    text_ += '}';
  }
  text_ += ' ';
  text_ += value;
  text_ += '\n';
}

void Exposition::sample(Labels labels, double value) { line("", labels, "", number(value)); }

void Exposition::sample(Labels labels, std::uint64_t value) {
  line("", labels, "", fmt::format("{}", value));
}

void Exposition::histogram(Labels labels, const base::Histogram& histogram) {
  for (const double bound : kBounds) {
    line("_bucket", labels, number(bound), number(below(histogram, bound)));
  }
  const auto count = fmt::format("{}", histogram.count());
  line("_bucket", labels, "+Inf", count);
  line("_sum", labels, "", number(sum_of(histogram)));
  line("_count", labels, "", count);
}

}  // namespace steelyard::admin
