#include "steelyard/base/buf.h"

#include <array>
#include <gtest/gtest.h>
#include <utility>

namespace steelyard::base {
namespace {

struct Counted : Storage {
  Counted() : Storage{.count = 0, .release = &Counted::gone} {}
  static void gone(Storage* storage) noexcept { ++static_cast<Counted*>(storage)->released; }
  std::array<std::byte, 8> bytes{};
  int released = 0;
};

TEST(Buf, ReleasesTheStorageWhenTheLastOneGoes) {
  Counted storage;
  {
    Buf a(&storage, storage.bytes.data(), 8);
    const Buf b = a.share(2, 3);
    EXPECT_EQ(storage.count, 2U);
    EXPECT_EQ(b.data(), storage.bytes.data() + 2);
    EXPECT_EQ(b.size(), 3U);
    a = Buf();
    EXPECT_EQ(storage.count, 1U);
    EXPECT_EQ(storage.released, 0);
  }
  EXPECT_EQ(storage.count, 0U);
  EXPECT_EQ(storage.released, 1);
}

TEST(Buf, MovingMovesTheCount) {
  Counted first;
  Counted second;
  Buf a(&first, first.bytes.data(), 8);
  Buf b(std::move(a));
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): what is left is part of the contract
  EXPECT_EQ(first.count, 1U);
  Buf c(&second, second.bytes.data(), 4);
  c = std::move(b);
  EXPECT_EQ(second.released, 1);
  EXPECT_EQ(first.count, 1U);
  EXPECT_EQ(c.size(), 8U);
  Buf& same = c;
  c = std::move(same);
  EXPECT_EQ(first.count, 1U);
  EXPECT_EQ(c.size(), 8U);
}

TEST(Buf, TrimsBothEndsWithoutTouchingTheStorage) {
  Buf buf = Buf::of_static("hello, world");
  buf.trim_front(7);
  EXPECT_EQ(buf.text(), "world");
  buf.trim_back(3);
  EXPECT_EQ(buf.text(), "wo");
  EXPECT_EQ(buf.share(1, 1).text(), "o");
}

TEST(Buf, AHeapCopyOutlivesItsSourceAndItsFirstOwner) {
  Buf rest;
  {
    std::string text = "gone soon";
    Buf copy = Buf::heap_copy(text);
    text.assign(text.size(), '#');
    EXPECT_EQ(copy.text(), "gone soon");
    rest = copy.share(5, 4);
  }
  EXPECT_EQ(rest.text(), "soon");
  EXPECT_TRUE(Buf::heap_copy("").empty());
}

TEST(Buf, TheEmptyOneIsEmpty) {
  const Buf buf;
  EXPECT_TRUE(buf.empty());
  EXPECT_EQ(buf.text(), "");
  EXPECT_TRUE(buf.share().empty());
}

}  // namespace
}  // namespace steelyard::base
