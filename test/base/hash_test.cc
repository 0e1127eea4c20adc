#include "steelyard/base/hash.h"

#include <gtest/gtest.h>
#include <string>

namespace steelyard::base {
namespace {

std::string hex(const std::array<std::uint8_t, 16>& digest) {
  std::string out;
  for (const auto byte : digest) {
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

TEST(Hash, XxHashGivesItsAuthorsValues) {
  EXPECT_EQ(xxh64(""), 0xef46db3751d8e999ULL);
  EXPECT_EQ(xxh64("abc"), 0x44bc2cf5ad770999ULL);
  EXPECT_EQ(xxh3(""), 0x2d06800538d394c2ULL);
  EXPECT_NE(xxh3("abc"), xxh3("abc", 1));
}

TEST(Hash, Md5GivesTheValuesOfItsRfc) {
  EXPECT_EQ(hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex(md5("a")), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(hex(md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hex(md5("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hex(md5("abcdefghijklmnopqrstuvwxyz")), "c3fcd3d76192e4007dfb496cca67e13b");
  EXPECT_EQ(hex(md5("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")),
            "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(hex(md5("1234567890123456789012345678901234567890123456789012345678901234567890123456"
                    "7890")),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Hash, Crc32IsThatOfZlibAndGoesOn) {
  EXPECT_EQ(crc32("123456789"), 0xcbf43926U);
  EXPECT_EQ(crc32("hello"), 907060870U);
  EXPECT_EQ(crc32("user:1"), 2074460802U);
  EXPECT_EQ(crc32("/index.html"), 3928116034U);
  EXPECT_EQ(crc32("56789", crc32("1234")), crc32("123456789"));
}

TEST(Hash, FnvAndMurmurGiveTheirAuthorsValues) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8ULL);
  EXPECT_EQ(murmur3(""), 0U);
  EXPECT_EQ(murmur3("hello"), 0xcbd8a7b341bd9b02ULL);
  EXPECT_EQ(murmur3("The quick brown fox jumps over the lazy dog"), 0xe34bbc7bbc071b6cULL);
}

}  // namespace
}  // namespace steelyard::base
