#include "steelyard/http/date.h"

#include <gtest/gtest.h>

namespace steelyard::http {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

constexpr sys_seconds kNow{784'111'777s};  // Sun, 06 Nov 1994 08:49:37 GMT

TEST(Date, ReadsAllThreeForms) {
  struct Row {
    std::string_view text;
    std::optional<sys_seconds> time;
  };
  for (const Row& row : {
           Row{"Sun, 06 Nov 1994 08:49:37 GMT", kNow},
           Row{"Sunday, 06-Nov-94 08:49:37 GMT", kNow},
           Row{"Sun Nov  6 08:49:37 1994", kNow},
           Row{"Mon, 06 Nov 1994 08:49:37 GMT", kNow},
           Row{"Thu, 01 Jan 1970 00:00:00 GMT", sys_seconds(0s)},
           Row{"Sat, 31 Dec 2016 23:59:60 GMT", sys_seconds(1'483'228'799s)},
           Row{"Friday, 01-Jan-60 00:00:00 GMT", sys_seconds(-315'619'200s)},
           Row{"Saturday, 01-Jan-44 00:00:00 GMT", sys_seconds(-820'540'800s)},
           Row{"Wed Feb 29 12:00:00 2012", sys_seconds(1'330'516'800s)},
           Row{"Tue Feb 29 12:00:00 2011", std::nullopt},
           Row{"Sun, 6 Nov 1994 08:49:37 GMT", std::nullopt},
           Row{"Sun, 06 nov 1994 08:49:37 GMT", std::nullopt},
           Row{"Sun, 06 Nov 1994 24:49:37 GMT", std::nullopt},
           Row{"Sun, 06 Nov 1994 08:60:37 GMT", std::nullopt},
           Row{"Sun, 06 Nov 1994 08:49:61 GMT", std::nullopt},
           Row{"Sun, 06 Nov 1994 08:49:37 UTC", std::nullopt},
           Row{"Sun, 06 Nov 1994 08:49:37 GMT ", std::nullopt},
           Row{"Sun, 00 Nov 1994 08:49:37 GMT", std::nullopt},
           Row{"Sun, 06 Nov 1994 08:49", std::nullopt},
           Row{"Sun Nov 06 08:49:37 1994", kNow},
           Row{"", std::nullopt},
       }) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(parse_date(row.text, kNow), row.time);
  }
}

TEST(RetryAfter, IsSecondsOrADateWithinABound) {
  struct Row {
    std::string_view value;
    std::optional<std::chrono::seconds> wait;
  };
  for (const Row& row : {
           Row{"0", 0s},
           Row{"120", 120s},
           Row{"0007", 7s},
           Row{"3600", 3600s},
           Row{"3601", 3600s},
           Row{"99999999999999999999999999", 3600s},
           Row{"Sun, 06 Nov 1994 08:50:37 GMT", 60s},
           Row{"Sun, 06 Nov 1994 08:49:00 GMT", 0s},
           Row{"Sun, 06 Nov 9999 08:49:00 GMT", 3600s},
           Row{"-1", std::nullopt},
           Row{"+1", std::nullopt},
           Row{"1.5", std::nullopt},
           Row{"1 ", std::nullopt},
           Row{"1, 2", std::nullopt},
           Row{"soon", std::nullopt},
           Row{"", std::nullopt},
       }) {
    SCOPED_TRACE(row.value);
    EXPECT_EQ(parse_retry_after(row.value, kNow, 3600s), row.wait);
  }
}

TEST(WriteDate, IsReadBackAsItWas) {
  using namespace std::chrono;
  for (const sys_seconds time :
       {sys_seconds(0s), sys_seconds(784'111'777s), sys_seconds(1'772'366'400s),
        sys_seconds(sys_days(year(2028) / 2 / 29)) + 86'399s}) {
    std::array<char, kDateSize> out;
    write_date(time, out.data());
    EXPECT_EQ(parse_date({out.data(), out.size()}, time), time);
  }
  std::array<char, kDateSize> out;
  write_date(sys_seconds(784'111'777s), out.data());
  EXPECT_EQ(std::string_view(out.data(), out.size()), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace steelyard::http
