#include "steelyard/model/state.h"

#include <gtest/gtest.h>

#include "steelyard/base/rng.h"

namespace steelyard::model {
namespace {

using namespace std::chrono_literals;

constexpr base::TimePoint kNow{5000s};

StateBlob example() {
  StateBlob blob;
  blob.nodes.push_back({{"api", "node-a"}, "10.0.0.1:80", 0.67, 2, 12s, {}, {}});
  blob.nodes.push_back({{"api", "node-b"},
                        "10.0.0.2:80",
                        1.5,
                        0,
                        {},
                        31s,
                        Override{4, "canary", "alice", kNow - 60s, kNow + 1h}});
  blob.nodes.push_back({{"web", ""}, "", 1, 0, {}, {}, {}});
  return blob;
}

void expect_same(const StateBlob& a, const StateBlob& b) {
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(a.nodes[i].id, b.nodes[i].id);
    EXPECT_EQ(a.nodes[i].address, b.nodes[i].address);
    EXPECT_EQ(a.nodes[i].control, b.nodes[i].control);
    EXPECT_EQ(a.nodes[i].ejections, b.nodes[i].ejections);
    EXPECT_EQ(a.nodes[i].out_for, b.nodes[i].out_for);
    EXPECT_EQ(a.nodes[i].ramp_age, b.nodes[i].ramp_age);
    EXPECT_EQ(a.nodes[i].override_, b.nodes[i].override_);
  }
}

TEST(StateBlob, ComesBackAsItWent) {
  for (const StateBlob& blob : {example(), StateBlob{}}) {
    const auto bytes = encode(blob, kNow);
    const auto back = decode(bytes, kNow);
    ASSERT_TRUE(back);
    expect_same(*back, blob);
  }
}

TEST(StateBlob, KeepsTimesAsAgesSinceTheClockDiffersBetweenBoots) {
  const auto back = decode(encode(example(), kNow), base::TimePoint{7s});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->nodes[1].override_->until, base::TimePoint{7s + 1h});
  EXPECT_EQ(back->nodes[1].override_->since, base::TimePoint{7s - 60s});
}

TEST(StateBlob, IsRefusedWholeWhateverByteIsChanged) {
  const auto good = encode(example(), kNow);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      auto bad = good;
      bad[at] = static_cast<std::byte>(value);
      if (bad == good) continue;
      EXPECT_FALSE(decode(bad, kNow)) << "byte " << at << " as " << value;
    }
  }
}

TEST(StateBlob, IsRefusedWholeWhereverItIsCut) {
  const auto good = encode(example(), kNow);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode(std::span(good).first(size), kNow)) << size;
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer, kNow));
}

TEST(StateBlob, SaysWhatIsWrong) {
  auto bytes = encode(example(), kNow);
  bytes[20] ^= std::byte{1};
  EXPECT_EQ(decode(bytes, kNow).error().text, "saved state: its checksum does not fit");
}

// Whoever can make a right checksum still cannot make us take nonsense or read past the end.
TEST(StateBlob, SurvivesRandomPayloadsWithRightChecksums) {
  constexpr std::uint64_t kSeed = 20260101;
  SCOPED_TRACE(kSeed);
  base::Rng rng(kSeed);
  const auto good = encode(example(), kNow);
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    auto bytes = good;
    for (int flips = 0; flips < 3; ++flips)
      bytes[16 + rng.below(bytes.size() - 24)] = static_cast<std::byte>(rng.below(256));
    std::uint64_t sum = 0xcbf29ce484222325ULL;
    for (std::size_t i = 0; i < bytes.size() - 8; ++i) {
      sum = (sum ^ static_cast<std::uint8_t>(bytes[i])) * 0x100000001b3ULL;
    }
    for (std::size_t i = 0; i < 8; ++i)
      bytes[bytes.size() - 8 + i] = static_cast<std::byte>(sum >> (8 * i));
    const auto state = decode(bytes, kNow);
    if (!state) continue;
    ++taken;
    for (const auto& node : state->nodes) {
      EXPECT_GT(node.control, 0);
      EXPECT_GE(node.out_for.value_or(0s), 0s);
    }
  }
  EXPECT_GT(taken, 0) << "some flips only change names or numbers";
}

}  // namespace
}  // namespace steelyard::model
