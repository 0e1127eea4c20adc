// What the configuration may hold is what the proxy takes from clients: the forms of schema against
// the rules of http.
#include "steelyard/schema/form.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/http/chars.h"
#include "steelyard/http/target.h"

namespace steelyard::http {
namespace {

using schema::Form;
using schema::has_form;

TEST(Forms, BytesOfTokensAndTargetsAreThoseOfHttp) {
  for (int c = 1; c < 256; ++c) {
    const auto byte = static_cast<char>(c);
    EXPECT_EQ(has_form(Form::kToken, std::string(1, byte)), is_char(byte, kToken)) << c;
    EXPECT_EQ(has_form(Form::kTarget, std::string("/") + byte), is_char(byte, kTarget)) << c;
    EXPECT_EQ(has_form(Form::kText, std::string(1, byte)), is_char(byte, kValue)) << c;
  }
  EXPECT_FALSE(has_form(Form::kTarget, "health"));
  EXPECT_FALSE(has_form(Form::kTarget, "/a\r\nX-Injected: 1"));
  EXPECT_TRUE(has_form(Form::kTarget, "/health?deep=1"));
  EXPECT_FALSE(has_form(Form::kArgument, "a=b"));
  EXPECT_FALSE(has_form(Form::kArgument, "a&b"));
  EXPECT_TRUE(has_form(Form::kArgument, "a[]"));
  EXPECT_FALSE(has_form(Form::kLine, "/var/log/a\tb"));
}

TEST(Forms, AnAuthorityIsWhatHostMayHold) {
  for (const auto* const text :
       {"a",     "a.b:80",   "a:",      "a:65535", "a:65536", "a:b", ":80",
        "[::1]", "[::1]:80", "[::1]80", "[]",      "[g]",     "a b", "a\r\nb",
        "u@a",   "a,b",      "a%41",    "a%4",     "%zz",     "a/b", "[::1"}) {
    EXPECT_EQ(has_form(Form::kAuthority, text), valid_authority(text)) << text;
  }
  EXPECT_TRUE(has_form(Form::kHost, "[::1]"));
  EXPECT_TRUE(has_form(Form::kHost, "a.example"));
  EXPECT_FALSE(has_form(Form::kHost, "a.example:80"));
}

TEST(Forms, AgreeAboutAHundredThousandRandomAuthorities) {
  constexpr std::uint64_t kSeed = 20;
  SCOPED_TRACE(kSeed);
  base::Rng rng(kSeed);
  constexpr std::string_view kBytes = "aF0.-_~%:[]:9 \r@";
  for (int round = 0; round < 100'000; ++round) {
    std::string text;
    for (auto length = 1 + rng.below(8); length > 0; --length)
      text += kBytes[rng.below(kBytes.size())];
    ASSERT_EQ(has_form(Form::kAuthority, text), valid_authority(text)) << text;
  }
}

}  // namespace
}  // namespace steelyard::http
