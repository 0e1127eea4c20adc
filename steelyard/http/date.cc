#include "steelyard/http/date.h"

#include <algorithm>
#include <array>

#include "steelyard/http/chars.h"

namespace steelyard::http {
namespace {

using std::chrono::sys_seconds;

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 7> kLongDays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};

class Reader {  // takes a text apart; once something does not fit, nothing fits any more
 public:
  explicit Reader(std::string_view text) noexcept : rest_(text) {}
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool done() const noexcept { return ok_ && rest_.empty(); }
  void take(std::string_view word) noexcept {
    ok_ = ok_ && rest_.starts_with(word);
    if (ok_) rest_.remove_prefix(word.size());
  }
  template <std::size_t N>
  unsigned one_of(const std::array<std::string_view, N>& words) noexcept {
    for (unsigned i = 0; i < N; ++i) {
      if (!rest_.starts_with(words[i])) continue;
      rest_.remove_prefix(words[i].size());
      return i;
    }
    ok_ = false;
    return 0;
  }
  unsigned digits(std::size_t count, bool blank_first = false) noexcept {
    unsigned value = 0;
    ok_ = ok_ && rest_.size() >= count;
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      const char c = blank_first && i == 0 && rest_[0] == ' ' ? '0' : rest_[i];
      ok_ = is_char(c, kDigit);
      value = value * 10 + static_cast<unsigned>(c - '0');
    }
    if (ok_) rest_.remove_prefix(count);
    return value;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Parts {
  unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

void read_clock(Reader& from, Parts& to) noexcept {
  to.hour = from.digits(2);
  from.take(":");
  to.minute = from.digits(2);
  from.take(":");
  to.second = from.digits(2);
}

std::optional<sys_seconds> time_of(const Parts& p) noexcept {
  using namespace std::chrono;
  const year_month_day date(year(static_cast<int>(p.year)), month(p.month), day(p.day));
  if (!date.ok() || p.hour > 23 || p.minute > 59 || p.second > 60) return std::nullopt;
  return sys_days(date) + hours(p.hour) + minutes(p.minute) + seconds(std::min(p.second, 59U));
}

std::optional<sys_seconds> read_fixed(std::string_view text) noexcept {
  Reader in(text);
  Parts p;
  in.one_of(kDays);
  in.take(", ");
  p.day = in.digits(2);
  in.take(" ");
  p.month = in.one_of(kMonths) + 1;
  in.take(" ");
  p.year = in.digits(4);
  in.take(" ");
  read_clock(in, p);
  in.take(" GMT");
  return in.done() ? time_of(p) : std::nullopt;
}

std::optional<sys_seconds> read_rfc850(std::string_view text, sys_seconds now) noexcept {
  Reader in(text);
  Parts p;
  in.one_of(kLongDays);
  in.take(", ");
  p.day = in.digits(2);
  in.take("-");
  p.month = in.one_of(kMonths) + 1;
  in.take("-");
  const std::chrono::year_month_day today(std::chrono::floor<std::chrono::days>(now));
  const auto this_year = static_cast<unsigned>(std::max(static_cast<int>(today.year()), 1970));
  p.year = this_year / 100 * 100 + in.digits(2);
  if (p.year > this_year + 50) p.year -= 100;
  in.take(" ");
  read_clock(in, p);
  in.take(" GMT");
  return in.done() ? time_of(p) : std::nullopt;
}

std::optional<sys_seconds> read_asctime(std::string_view text) noexcept {
  Reader in(text);
  Parts p;
  in.one_of(kDays);
  in.take(" ");
  p.month = in.one_of(kMonths) + 1;
  in.take(" ");
  p.day = in.digits(2, true);
  in.take(" ");
  read_clock(in, p);
  in.take(" ");
  p.year = in.digits(4);
  return in.done() ? time_of(p) : std::nullopt;
}

}  // namespace

std::optional<sys_seconds> parse_date(std::string_view text, sys_seconds now) noexcept {
  if (const auto fixed = read_fixed(text)) return fixed;
  if (const auto old = read_rfc850(text, now)) return old;
  return read_asctime(text);
}

void write_date(sys_seconds time, char* out) noexcept {
  using namespace std::chrono;
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  char* at = out;
  const auto put = [&](std::string_view text) { at = std::copy(text.begin(), text.end(), at); };
  const auto digits = [&](unsigned value, unsigned most) {
    for (unsigned unit = most; unit > 0; unit /= 10) {
      *at++ = static_cast<char>('0' + value / unit % 10);
    }
  };
  put(kDays[weekday(day).c_encoding()]);
  put(", ");
  digits(static_cast<unsigned>(date.day()), 10);
  put(" ");
  put(kMonths[static_cast<unsigned>(date.month()) - 1]);
  put(" ");
  digits(static_cast<unsigned>(static_cast<int>(date.year())), 1000);
  put(" ");
  digits(static_cast<unsigned>(clock.hours().count()), 10);
  put(":");
  digits(static_cast<unsigned>(clock.minutes().count()), 10);
  put(":");
  digits(static_cast<unsigned>(clock.seconds().count()), 10);
  put(" GMT");
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view value, sys_seconds now,
                                                      std::chrono::seconds most) noexcept {
  using std::chrono::seconds;
  if (value.empty()) return std::nullopt;
  if (std::all_of(value.begin(), value.end(), [](char c) { return is_char(c, kDigit); })) {
    seconds wait{0};
    for (const char c : value) wait = std::min(most, wait * 10 + seconds(c - '0'));
    return wait;
  }
  const auto until = parse_date(value, now);
  if (!until) return std::nullopt;
  return std::clamp(*until - now, seconds(0), most);
}

}  // namespace steelyard::http
