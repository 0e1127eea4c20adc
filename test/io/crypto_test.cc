#include "steelyard/io/crypto.h"

#include <gtest/gtest.h>

namespace steelyard::io {
namespace {

TEST(Crypto, Sha256HasTheStandardsValues) {
  // FIPS 180-4 examples.
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Crypto, HexGoesThereAndBackAndRefusesWhatIsNot) {
  const auto digest = sha256("key");
  const auto back = digest_from_hex(to_hex(digest));
  ASSERT_TRUE(back.has_value());
  EXPECT_TRUE(equal_constant_time(*back, digest));
  EXPECT_FALSE(equal_constant_time(*back, sha256("kez")));
  EXPECT_FALSE(digest_from_hex("").has_value());
  EXPECT_FALSE(digest_from_hex(std::string(63, 'a')).has_value());
  EXPECT_FALSE(digest_from_hex(std::string(64, 'g')).has_value());
}

TEST(Crypto, RandomBytesDiffer) { EXPECT_NE(random_seed(), random_seed()); }

}  // namespace
}  // namespace steelyard::io
