#include "steelyard/admin/access.h"

#include <gtest/gtest.h>

namespace steelyard::admin {
namespace {

base::Address at(std::string_view text) { return base::Address::parse(text).value(); }

Access access_with(std::vector<std::string> allow = {"127.0.0.0/8", "::1/128"}) {
  Options options;
  options.keys = {{"ops", io::to_hex(io::sha256("sy_good"))},
                  {"ci", io::to_hex(io::sha256("sy_other"))}};
  options.allow = std::move(allow);
  options.hosts = {"admin.example.test"};
  return Access::make(options).value();
}

TEST(Access, ReadsNeedAKnownHost) {
  const auto access = access_with();
  const auto peer = at("127.0.0.1:5000");
  for (const auto* host : {"127.0.0.1:9180", "localhost:9180", "LOCALHOST", "[::1]:9180",
                           "127.8.9.1", "admin.example.test:9180", "Admin.Example.Test"}) {
    EXPECT_FALSE(access.read({host, "", "", peer}).has_value()) << host;
  }
  for (const auto* host : {"evil.example.test", "", "127.0.0.1.evil.test", "10.0.0.1:9180"}) {
    const auto refusal = access.read({host, "", "", peer});
    ASSERT_TRUE(refusal.has_value()) << host;
    EXPECT_EQ(refusal->status, 421);
  }
}

TEST(Access, PagesOfOtherOriginsAreRefused) {
  const auto access = access_with();
  const auto peer = at("127.0.0.1:5000");
  EXPECT_EQ(access.read({"localhost", "http://evil.example.test", "", peer})->status, 403);
  EXPECT_EQ(access.read({"localhost", "null", "", peer})->status, 403);
  EXPECT_EQ(access.read({"localhost", "", "cross-site", peer})->status, 403);
  EXPECT_FALSE(access.read({"localhost:9180", "http://localhost:9180", "same-origin", peer}));
  EXPECT_EQ(access.read({"localhost:9180", "http://localhost:1", "", peer})->status, 403)
      << "another port is another origin";
}

TEST(Access, WritesNeedAKeyAndAnAllowedNetwork) {
  const auto access = access_with();
  std::string author;
  const Caller caller{"localhost", "", "", at("127.0.0.1:5000")};
  EXPECT_EQ(access.write(caller, "", author)->status, 401);
  EXPECT_EQ(access.write(caller, "sy_wrong", author)->status, 401);
  EXPECT_FALSE(access.write(caller, "sy_good", author).has_value());
  EXPECT_EQ(author, "ops");
  EXPECT_FALSE(access.write(caller, "sy_other", author).has_value());
  EXPECT_EQ(author, "ci");
  const Caller outside{"localhost", "", "", at("10.1.2.3:5000")};
  EXPECT_EQ(access.write(outside, "sy_good", author)->status, 403);
}

TEST(Access, NetworksHoldTheirAddressesInEitherForm) {
  Options options;
  options.allow = {"10.0.0.0/8"};
  options.keys = {{"ops", io::to_hex(io::sha256("sy_good"))}};
  const auto access = Access::make(options).value();
  const auto allowed = [&](const char* address) {
    std::string author;
    return !access.write({"localhost", "", "", at(address)}, "sy_good", author).has_value();
  };
  EXPECT_TRUE(allowed("10.255.0.1:1"));
  EXPECT_FALSE(allowed("11.0.0.1:1"));
  EXPECT_TRUE(allowed("[::ffff:10.1.1.1]:1"));
  EXPECT_FALSE(allowed("[::ffff:11.1.1.1]:1"));
  EXPECT_FALSE(allowed("[2001:db8::1]:1"));
}

TEST(Access, WhatIsNoNetworkIsRefused) {
  for (const auto* text : {"10.0.0.0/33", "10.0.0/8", "x", "::1/129", "10.0.0.0/", "10.0.0.1/8"}) {
    Options options;
    options.allow = {text};
    EXPECT_FALSE(Access::make(options)) << text;
    schema::Faults faults;
    options.check(faults);
    ASSERT_EQ(faults.list.size(), 1U) << text;
    EXPECT_EQ(faults.list[0].key, "allow");
  }
}

}  // namespace
}  // namespace steelyard::admin
