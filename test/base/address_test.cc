#include "steelyard/base/address.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace steelyard::base {
namespace {

TEST(Address, PrintsWhatItParsedInCanonicalForm) {
  struct Row {
    std::string_view name, text, want;
  };
  // The IPv6 forms are those of RFC 5952 §1, §2 and §4.
  for (const auto& row : {
           Row{"IPv4", "10.0.0.1:80", "10.0.0.1:80"},
           Row{"the highest", "255.255.255.255:65535", "255.255.255.255:65535"},
           Row{"localhost", "localhost:8080", "127.0.0.1:8080"},
           Row{"leading zeros go", "[2001:0db8:0000:0000:0000:0000:0000:0001]:80",
               "[2001:db8::1]:80"},
           Row{"upper case becomes lower", "[2001:DB8:AAAA::C]:80", "[2001:db8:aaaa::c]:80"},
           Row{"the loopback", "[::1]:1", "[::1]:1"},
           Row{"all zero", "[::]:443", "[::]:443"},
           Row{"one zero group is not shortened", "[2001:db8:0:1:1:1:1:1]:1",
               "[2001:db8:0:1:1:1:1:1]:1"},
           Row{"nor written short", "[2001:db8::1:1:1:1:1]:1", "[2001:db8:0:1:1:1:1:1]:1"},
           Row{"the longest run is shortened", "[2001:0:0:1:0:0:0:1]:1", "[2001:0:0:1::1]:1"},
           Row{"of equal runs the first", "[2001:db8:0:0:1:0:0:1]:1", "[2001:db8::1:0:0:1]:1"},
           Row{"a run at the end", "[2001:db8:1:1:1:1:0:0]:1", "[2001:db8:1:1:1:1::]:1"},
           Row{"a run at the start", "[0:0:0:1:1:1:1:1]:1", "[::1:1:1:1:1]:1"},
           Row{"a dotted tail", "[64:ff9b::192.0.2.33]:1", "[64:ff9b::c000:221]:1"},
           Row{"IPv4-mapped stays dotted", "[::ffff:c000:280]:1", "[::ffff:192.0.2.128]:1"},
       }) {
    const auto parsed = Address::parse(row.text);
    ASSERT_TRUE(parsed) << row.name;
    EXPECT_EQ(parsed->to_text(), row.want) << row.name;
    const auto again = Address::parse(parsed->to_text());
    ASSERT_TRUE(again) << row.name;
    EXPECT_EQ(*again, *parsed) << row.name;
  }
}

TEST(Address, RefusesWhatIsNotOneAndSaysWhy) {
  struct Row {
    std::string_view text, says;
  };
  for (const auto& row : {
           Row{"", "no port"},
           Row{"10.0.0.1", "no port"},
           Row{"10.0.0.1:", "no port between"},
           Row{"10.0.0.1:0", "no port between"},
           Row{"10.0.0.1:65536", "no port between"},
           Row{"10.0.0.1:080", "leading zero in its port"},
           Row{"10.0.0.1:00", "no port between"},
           Row{"8080", "no port, write host:port"},
           Row{"http://10.0.0.1:80", "is a URL"},
           Row{"10.0.0.1:-1", "no port between"},
           Row{"10.0.0.1:80x", "no port between"},
           Row{"10.0.0:80", "not an IP address"},
           Row{"10.0.0.256:80", "not an IP address"},
           Row{"10.0.0.01:80", "not an IP address"},
           Row{"10.0.0.1.1:80", "not an IP address"},
           Row{"10.0.0.1 :80", "not an IP address"},
           Row{":80", "has no host"},
           Row{"*:80", "not an IP address"},
           Row{"example.test:80", "names are not resolved"},
           Row{"2001:db8::1:80", "write it in brackets: [2001:db8::1]:80"},
           Row{"::1", "write it in brackets: [::1]:PORT"},
           Row{"fe80::1%eth0", "write it in brackets: [fe80::1]:PORT (zones are not taken)"},
           Row{"1:2:3", "not an IP address"},
           Row{"[::1]:", "no port between"},
           Row{"[::1]", "no port between"},
           Row{"[2001:db8::1", "no closing bracket"},
           Row{"[1:2:3:4:5:6:7]:80", "not an IPv6 address"},
           Row{"[1:2:3:4:5:6:7:8:9]:80", "not an IPv6 address"},
           Row{"[1::2::3]:80", "not an IPv6 address"},
           Row{"[:::]:80", "not an IPv6 address"},
           Row{"[12345::]:80", "not an IPv6 address"},
           Row{"[::1.2.3]:80", "not an IPv6 address"},
           Row{"[::1.2.3.4:5]:80", "not an IPv6 address"},
           Row{"[1:2:3:4:5:6:7:1.2.3.4]:80", "not an IPv6 address"},
           Row{"[1:2:3:4:5:6:7:8::]:80", "not an IPv6 address"},
           Row{"[fe80::1%eth0]:80", "not an IPv6 address"},
           Row{"[g::]:80", "not an IPv6 address"},
           Row{"[::1:80", "no closing bracket"},
           Row{"[]:80", "not an IPv6 address"},
       }) {
    const auto parsed = Address::parse(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_EQ(parsed.error().code, Code::kInvalid);
    EXPECT_EQ(parsed.error().origin, Origin::kOperator);
    EXPECT_NE(parsed.error().text.find(row.says), std::string::npos) << parsed.error().text;
  }
}

TEST(Address, TakesAnyAddressAndPortZeroOnlyWhenAsked) {
  for (const std::string_view text : {":8080", "*:8080"}) {
    const auto parsed = Address::parse(text, true);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->to_text(), "0.0.0.0:8080");
  }
  const auto chosen = Address::parse("127.0.0.1:0", true);
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->port(), 0);
}

TEST(Address, TheEmptyOneIsUnknownAndNoOther) {
  const Address none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(none.to_text(), "unknown");
  EXPECT_NE(none, Address::v4({0, 0, 0, 0}, 0));
  EXPECT_FALSE(none.is_loopback());
}

TEST(Address, KnowsTheLoopback) {
  EXPECT_TRUE(Address::loopback(1).is_loopback());
  EXPECT_TRUE(Address::parse("127.8.9.1:1")->is_loopback());
  EXPECT_TRUE(Address::parse("[::1]:1")->is_loopback());
  EXPECT_FALSE(Address::parse("128.0.0.1:1")->is_loopback());
  EXPECT_FALSE(Address::parse("[::2]:1")->is_loopback());
  EXPECT_TRUE(Address::parse("[::ffff:127.0.0.1]:1")->is_loopback());
  EXPECT_FALSE(Address::parse("[::ffff:128.0.0.1]:1")->is_loopback());
}

TEST(Address, AnotherPortIsAnotherAddress) {
  const auto one = Address::loopback(80);
  const auto two = one.with_port(81);
  EXPECT_EQ(two.to_text(), "127.0.0.1:81");
  EXPECT_NE(one, two);
  EXPECT_LT(one, two);
}

TEST(Address, TheLongestTextFitsTheStatedRoom) {
  std::vector<char> out(46, '#');
  const auto longest = *Address::parse("[1111:2222:3333:4444:5555:6666:7777:8888]:1");
  EXPECT_EQ(longest.write_ip(out.data()), 39U);
  const auto mapped = *Address::parse("[::ffff:255.255.255.255]:1");
  EXPECT_EQ(mapped.write_ip(out.data()), 22U);
}

}  // namespace
}  // namespace steelyard::base
