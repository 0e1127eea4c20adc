#include "steelyard/schema/scalar.h"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace steelyard::schema {
namespace {

using namespace std::chrono_literals;

template <typename T>
std::string outcome(const base::Result<T>& result, std::string (*show)(T)) {
  return result ? show(*result) : result.error().text;
}

struct Row {
  std::string_view text, want;
};

TEST(Scalar, ReadsWholeNumbers) {
  constexpr std::array rows{
      Row{"0", "0"},
      Row{"-0", "0"},
      Row{"42", "42"},
      Row{"-7", "-7"},
      Row{"1e3", "1000"},
      Row{"1E3", "1000"},
      Row{"1.5e3", "1500"},
      Row{"1500e-2", "15"},
      Row{"3.0", "3"},
      Row{"999999999999999999", "999999999999999999"},
      Row{"010", "is 010, has a leading zero: write 10"},
      Row{"-007", "is -007, has a leading zero: write -7"},
      Row{"00", "is 00, has a leading zero: write 0"},
      Row{"1.5", "is 1.5, must be a whole number"},
      Row{"1e-1", "is 1e-1, must be a whole number"},
      Row{"1e19", "is 1e19, is too large"},
      Row{"0e999", "0"},
      Row{"1e999", "is 1e999, is too large"},
      Row{"9999999999999999999", "is 9999999999999999999, has more digits than make sense"},
      Row{"+5", "is +5, must be a number"},
      Row{"0x10", "is 0x10, must be a plain whole number"},
      Row{"1_000", "is 1_000, must be a plain whole number"},
      Row{"3x", "is 3x, must be a plain whole number"},
      Row{"1e", "is 1e, must be a plain whole number"},
      Row{"5.", "is 5., has no digit after the point"},
      Row{".5", "is .5, must be a number"},
      Row{"", "is \"\", must be a number"},
      Row{" 5", "is  5, must be a number"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(outcome<std::int64_t>(parse_integer(row.text),
                                    [](std::int64_t v) { return std::to_string(v); }),
              row.want);
  }
}

TEST(Scalar, ReadsNumbers) {
  constexpr std::array rows{
      Row{"0.25", "0.25"},
      Row{"-1.5", "-1.5"},
      Row{"1e3", "1000"},
      Row{"2.5e-3", "0.0025"},
      Row{"00.5", "is 00.5, has a leading zero: write 0.5"},
      Row{"1e999", "is 1e999, is beyond what a number can hold"},
      Row{"nan", "is nan, must be a number"},
      Row{"inf", "is inf, must be a number"},
      Row{".inf", "is .inf, must be a number"},
      Row{"-", "is -, must be a number"},
      Row{"1,5", "is 1,5, must be a plain number"},
      Row{"50%", "is 50%, must be a plain number"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(outcome<double>(parse_number(row.text), number_text), row.want);
  }
}

TEST(Scalar, ReadsSharesAsPercentOrFraction) {
  constexpr std::array rows{
      Row{"50%", "50%"},
      Row{"0.5", "50%"},
      Row{"7%", "7%"},
      Row{"0.07", "7%"},
      Row{"12.5%", "12.5%"},
      Row{"100%", "100%"},
      Row{"0%", "0%"},
      Row{"1", "100%"},
      Row{"07%", "is 07%, has a leading zero: write 7%"},
      Row{"5 %", "is 5 %, must be a number or a percentage, as 0.2 or 20%"},
      Row{"%", "is %, must be a number"},
      Row{"5%%", "is 5%%, must be a number or a percentage, as 0.2 or 20%"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(outcome<double>(parse_ratio(row.text), ratio_text), row.want);
  }
}

TEST(Scalar, ReadsSevenPercentAsExactlyWhatTheFractionIs) {
  for (int percent = 0; percent <= 100; ++percent) {
    const auto text = std::to_string(percent) + "%";
    const std::string fraction =
        percent == 100 ? "1" : std::string(percent < 10 ? "0.0" : "0.") + std::to_string(percent);
    EXPECT_EQ(parse_ratio(text).value_or(-1), parse_ratio(fraction).value_or(-2)) << text;
    EXPECT_EQ(ratio_text(parse_ratio(text).value_or(-1)), text);
  }
}

TEST(Scalar, ReadsDurations) {
  constexpr std::array rows{
      Row{"30s", "30s"},
      Row{"1h30m", "1h30m"},
      Row{"1.5h", "1h30m"},
      Row{"90s", "1m30s"},
      Row{"1500ms", "1s500ms"},
      Row{"0.5s", "500ms"},
      Row{"250us", "250us"},
      Row{"7ns", "7ns"},
      Row{"2d", "2d"},
      Row{"36h", "36h"},
      Row{"1d12h", "36h"},
      Row{"0", "0s"},
      Row{"0s", "0s"},
      Row{"30", "is 30, has no unit: write 30s for seconds (units are ns, us, ms, s, m, h, d)"},
      Row{"1h30",
          "is 1h30, has no unit: write 1h30s for seconds (units are ns, us, ms, s, m, h, d)"},
      Row{"30sec", "is 30sec, has the unknown unit \"sec\", did you mean \"s\"?"},
      Row{"5min", "is 5min, has the unknown unit \"min\", did you mean \"m\"?"},
      Row{"5M", "is 5M, has the unknown unit \"M\", did you mean \"m\"?"},
      Row{"3µs", "is 3µs, has the unknown unit \"µs\", did you mean \"us\"?"},
      Row{"3w", "is 3w, has the unknown unit \"w\": units are ns, us, ms, s, m, h, d"},
      Row{"1h 30m", "is 1h 30m, has the unknown unit \"h \": units are ns, us, ms, s, m, h, d"},
      Row{"30m1h", "is 30m1h, must have its units from large to small, each once, as 1h30m"},
      Row{"1s1s", "is 1s1s, must have its units from large to small, each once, as 1h30m"},
      Row{"-5s", "is -5s, is negative"},
      Row{"0.5ns", "is 0.5ns, is finer than 1ns"},
      Row{"010s", "is 010s, has a leading zero: write 10s"},
      Row{"200000d", "is 200000d, is too long (292 years are the most)"},
      Row{"106751d23h47m16.9s", "is 106751d23h47m16.9s, is too long (292 years are the most)"},
      Row{"soon", "is soon, must be a duration, as 30s or 1h30m"},
      Row{"", "is \"\", must be a duration, as 30s or 1h30m"},
      Row{"s", "is s, must be a duration, as 30s or 1h30m"},
      Row{"1e3s", "is 1e3s, has the unknown unit \"e\": units are ns, us, ms, s, m, h, d"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(outcome<base::Duration>(parse_duration(row.text), duration_text), row.want);
  }
}

TEST(Scalar, PrintsDurationsThatReadBackTheSame) {
  for (const base::Duration value :
       {base::Duration(1), base::Duration(999'999'999), base::Duration(1s) + 1ns,
        base::Duration(25h), base::Duration(48h), base::Duration(3599s), base::Duration::max()}) {
    const auto text = duration_text(value);
    EXPECT_EQ(parse_duration(text).value_or(base::Duration(-1)), value) << text;
  }
}

TEST(Scalar, ReadsSizes) {
  constexpr std::array rows{
      Row{"0", "0"},
      Row{"512", "512"},
      Row{"1e3", "1000"},
      Row{"10MiB", "10MiB"},
      Row{"10MB", "10000000"},
      Row{"1.5KiB", "1536"},
      Row{"64kB", "64000"},
      Row{"1024B", "1KiB"},
      Row{"2TiB", "2TiB"},
      Row{"1.5B", "is 1.5B, is not a whole number of bytes"},
      Row{"10m",
          "is 10m, has the unknown unit \"m\": write MiB (powers of 1024) or MB (powers of 1000)"},
      Row{"8k",
          "is 8k, has the unknown unit \"k\": write KiB (powers of 1024) or kB (powers of 1000)"},
      Row{"8KB", "is 8KB, has the unknown unit \"KB\", did you mean \"kB\"?"},
      Row{"8mib", "is 8mib, has the unknown unit \"mib\", did you mean \"MiB\"?"},
      Row{"8 MiB",
          "is 8 MiB, has the unknown unit \" MiB\": units are B, kB, KiB, MB, MiB, GB, GiB, TB, "
          "TiB"},
      Row{"08", "is 08, has a leading zero: write 8"},
      Row{"-1", "is -1, is negative"},
      Row{"9000000TiB", "is 9000000TiB, is too large"},
      Row{"big", "is \"big\", must be a size, as 10MiB"},
      Row{"", "is \"\", must be a size, as 10MiB"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(outcome<base::Bytes>(parse_bytes(row.text), bytes_text), row.want);
  }
}

TEST(Scalar, ReadsBooleansInTheWordsPeopleUse) {
  for (const auto* word : {"true", "True", "TRUE", "on", "yes"})
    EXPECT_TRUE(parse_bool(word).value_or(false)) << word;
  for (const auto* word : {"false", "False", "FALSE", "off", "no"}) {
    EXPECT_FALSE(parse_bool(word).value_or(true)) << word;
  }
  for (const auto* word : {"", "y", "1", "0", "enabled", "tRUE"})
    EXPECT_FALSE(parse_bool(word).has_value()) << word;
}

TEST(Scalar, TakesNamesThatAreSafeEverywhere) {
  for (const auto* name : {"a", "9", "node-a", "10.0.0.1-80", "A_b.c-d"})
    EXPECT_TRUE(is_identifier(name)) << name;
  EXPECT_TRUE(is_identifier(std::string(63, 'x')));
  for (const auto* name : {"", "-a", ".a", "_a", "a b", "a:b", "a/b", "ä", "a\n"})
    EXPECT_FALSE(is_identifier(name)) << name;
  EXPECT_FALSE(is_identifier(std::string(64, 'x')));
}

}  // namespace
}  // namespace steelyard::schema
