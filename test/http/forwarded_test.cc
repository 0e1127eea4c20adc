#include "steelyard/http/forwarded.h"

#include <gtest/gtest.h>
#include <vector>

namespace steelyard::http {
namespace {

TEST(ForwardedFor, HDR_04_ReadsEveryFormOfAnAddress) {
  struct Row {
    std::string_view entry, ip;  // empty: no address
  };
  for (const Row& row : {
           Row{"192.168.0.1", "192.168.0.1"},
           Row{"192.168.0.1:443", "192.168.0.1"},
           Row{"2001:db8::1", "2001:db8::1"},
           Row{"[2001:db8::1]", "2001:db8::1"},
           Row{"[2001:db8::1]:443", "2001:db8::1"},
           Row{"\"[2001:db8::1]:80\"", "2001:db8::1"},
           Row{"\"192.0.2.1\"", "192.0.2.1"},
           Row{"::ffff:192.0.2.1", "192.0.2.1"},
           Row{"fe80::1%eth0", ""},
           Row{"unknown", ""},
           Row{"_hidden", ""},
           Row{"", ""},
           Row{"\"", ""},
           Row{"192.0.2.1:", ""},
           Row{"192.0.2.1:x", ""},
           Row{"192.0.2.256", ""},
           Row{"192.0.2", ""},
           Row{"[192.0.2.1]:80", ""},
           Row{"[2001:db8::1", ""},
           Row{"[2001:db8::1]80", ""},
           Row{"localhost", ""},
           Row{"*", ""},
           Row{"2001:db8:::1", ""},
       }) {
    SCOPED_TRACE(row.entry);
    const auto address = forwarded_address(row.entry);
    EXPECT_EQ(address.valid() ? address.ip_text() : "", row.ip);
    EXPECT_EQ(address.port(), 0);
  }
}

TEST(ForwardedFor, GoesFromTheRightOverAllLines) {
  std::vector<Field> fields{{"X-Forwarded-For", "a, b", FieldId::kXForwardedFor},
                            {"Host", "t", FieldId::kHost},
                            {"X-Forwarded-For", "", FieldId::kXForwardedFor},
                            {"X_Forwarded-For", "evil", FieldId::kXForwardedFor, true},
                            {"X-Forwarded-For", " c ,,\td", FieldId::kXForwardedFor}};
  Head head;
  head.fields = fields;
  ForwardedFor hops(head);
  std::vector<std::string> seen;
  for (std::string_view entry; hops.next(entry);) seen.emplace_back(entry);
  EXPECT_EQ(seen, (std::vector<std::string>{"d", "", "c", "", "b", "a"}));
}

}  // namespace
}  // namespace steelyard::http
