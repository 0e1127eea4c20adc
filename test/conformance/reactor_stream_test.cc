// Streams of every back end (io/reactor.h, R3–R6, R8).
#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "test/conformance/reactor_fixture.h"

namespace steelyard::io::conformance {
namespace {

class ReactorStreams : public ReactorConformance {};

INSTANTIATE_TEST_SUITE_P(Backends, ReactorStreams, testing::ValuesIn(backends()),
                         [](const auto& row) { return row.param.name; });

TEST_P(ReactorStreams, GivesBytesInOrderThenTheEnd) {
  Recorder events;
  const auto far = open(events);
  events.grant(1 << 20);
  const std::string text = pattern(30000, 1);
  send_all(*far, text);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.bytes, text);
  EXPECT_EQ(events.history(), "open, bytes, end");
}

TEST_P(ReactorStreams, NeverGivesMoreThanGranted) {
  Recorder events;
  const auto far = open(events);
  const std::string text = pattern(5000, 2);
  send_all(*far, text);
  rig->settle();
  EXPECT_EQ(events.bytes, "");
  for (const std::size_t credit : {1U, 2U, 997U, 1000U}) {
    const std::size_t want = events.bytes.size() + credit;
    events.grant(credit);
    ASSERT_TRUE(rig->until([&] { return events.bytes.size() >= want; }));
    rig->settle();
    EXPECT_EQ(events.bytes.size(), want);
  }
  events.grant(1 << 20);
  ASSERT_TRUE(rig->until([&] { return events.bytes.size() == text.size(); }));
  EXPECT_EQ(events.bytes, text);
  EXPECT_FALSE(events.over_credit);
}

TEST_P(ReactorStreams, CreditAddsUp) {
  Recorder events;
  const auto far = open(events);
  events.grant(3);
  events.grant(4);
  send_all(*far, "0123456789");
  ASSERT_TRUE(rig->until([&] { return events.bytes.size() == 7; }));
  rig->settle();
  EXPECT_EQ(events.bytes, "0123456");
}

TEST_P(ReactorStreams, GivesBytesAndFinThatCameTogether) {
  Recorder events;
  auto [near, far] = rig->pair();
  send_all(*far, "last words");
  far->end();
  events.stream = rig->reactor().adopt(std::move(near), events);
  events.grant(100);
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.bytes, "last words");
  EXPECT_EQ(events.history(), "open, bytes, end");
}

TEST_P(ReactorStreams, GivesBytesAndFinOfOneEventToAnOpenStream) {
  Recorder events;
  const auto far = open(events);
  events.grant(100);
  rig->settle();
  send_all(*far, "last words");
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.history(), "open, bytes, end");
}

TEST_P(ReactorStreams, StillWritesAfterThePeersEnd) {
  Recorder events;
  const auto far = open(events);
  events.grant(10);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  events.stream->write(Buf::heap_copy("answer"));
  events.stream->end_write();
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(100);
    return far->ended();
  }));
  EXPECT_EQ(got, "answer");
  EXPECT_FALSE(events.failed);
}

TEST_P(ReactorStreams, StillReadsAfterItsOwnEnd) {
  Recorder events;
  const auto far = open(events);
  events.grant(100);
  events.stream->write(Buf::heap_copy("question"));
  events.stream->end_write();
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(100);
    return far->ended();
  }));
  EXPECT_EQ(got, "question");
  send_all(*far, "answer");
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.bytes, "answer");
}

TEST_P(ReactorStreams, AClosedExchangeEndsWithoutReset) {
  Recorder events;
  const auto far = open(events);
  events.grant(100);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  events.stream->write(Buf::heap_copy("answer"));
  events.stream->end_write();
  ASSERT_TRUE(rig->until([&] { return events.sent == 6; }));
  rig->settle();
  events.stream.reset();
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(100);
    return far->ended();
  }));
  EXPECT_EQ(got, "answer");
  EXPECT_FALSE(far->was_reset());
}

// Also in the call that ends it, and long before the peer has read it all.
TEST_P(ReactorStreams, DestroyingAStreamWhoseEndIsOnItsWayDeliversTheRest) {
  Recorder events;
  const auto far = open(events);
  const std::string all(20'000, 'x');
  events.stream->write(Buf::heap_copy(all));
  ASSERT_TRUE(rig->until([&] { return events.sent == all.size(); }));
  events.stream->end_write();
  events.stream.reset();
  rig->settle();
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(1000);
    return far->ended();
  }));
  EXPECT_EQ(got, all);
  EXPECT_FALSE(far->was_reset());
}

TEST_P(ReactorStreams, DestroyingAStreamThatStillHasBytesToSendResetsIt) {
  Recorder events;
  const auto far = open(events);
  events.stream->write(Buf::heap_copy(std::string(std::size_t{8} << 20, 'x')));
  events.stream->end_write();
  rig->settle();
  ASSERT_GT(events.stream->unsent(), 0U);
  events.stream.reset();
  EXPECT_TRUE(rig->until([&] {
    (void)far->read(1 << 20);
    return far->was_reset();
  }));
}

TEST_P(ReactorStreams, DestroyingAnOpenStreamResetsIt) {
  Recorder events;
  const auto far = open(events);
  events.stream.reset();
  EXPECT_TRUE(rig->until([&] { return far->was_reset(); }));
  EXPECT_EQ(events.history(), "open");
}

TEST_P(ReactorStreams, AFinBehindUndeliveredBytesWaits) {
  Recorder events;
  const auto far = open(events);
  send_all(*far, "0123456789");
  far->end();
  rig->settle();
  EXPECT_EQ(events.history(), "open");
  events.grant(4);
  ASSERT_TRUE(rig->until([&] { return events.bytes.size() == 4; }));
  rig->settle();
  EXPECT_FALSE(events.ended);
  events.grant(6);
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.bytes, "0123456789");
}

TEST_P(ReactorStreams, AFinWithNothingBeforeItNeedsNoCredit) {
  Recorder events;
  const auto far = open(events);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  EXPECT_EQ(events.history(), "open, end");
}

TEST_P(ReactorStreams, AResetAtZeroCreditFailsAtOnceAndDropsBytes) {
  Recorder events;
  const auto far = open(events);
  send_all(*far, "never seen");
  rig->settle();
  far->reset();
  ASSERT_TRUE(rig->until([&] { return events.failed; }));
  EXPECT_EQ(events.error.code, base::Code::kReset);
  EXPECT_EQ(events.bytes, "");
  events.grant(100);
  rig->settle();
  EXPECT_EQ(events.history(), "open, failed connection reset");
}

TEST_P(ReactorStreams, WithCreditTheBytesComeBeforeTheReset) {
  Recorder events;
  auto [near, far] = rig->pair();
  send_all(*far, "first");
  rig->settle();
  far->reset();
  events.stream = rig->reactor().adopt(std::move(near), events);
  events.grant(100);
  ASSERT_TRUE(rig->until([&] { return events.failed; }));
  EXPECT_EQ(events.bytes, "first");
  EXPECT_EQ(events.error.code, base::Code::kReset);
  EXPECT_EQ(events.error.origin, base::Origin::kClient);
  EXPECT_FALSE(events.error.retry_safe);
}

TEST_P(ReactorStreams, MayFailAfterTheEndAndThenSaysNothingMore) {
  Recorder events;
  const auto far = open(events);
  events.grant(100);
  far->end();
  ASSERT_TRUE(rig->until([&] { return events.ended; }));
  far->reset();
  events.stream->write(Buf::heap_copy("into the void"));
  ASSERT_TRUE(rig->until([&] {
    if (!events.failed) events.stream->write(Buf::heap_copy("more"));
    return events.failed;
  }));
  events.stream->write(Buf::heap_copy("ignored"));
  events.grant(5);
  rig->settle();
  EXPECT_EQ(events.history(), "open, end, failed connection reset");
  EXPECT_FALSE(events.after_failure);
  EXPECT_EQ(events.stream->unsent(), 0U);
}

TEST_P(ReactorStreams, CountsWhatIsUnsentAndWhatWasSent) {
  Recorder events;
  const auto far = open(events);
  EXPECT_EQ(events.stream->unsent(), 0U);
  for (int i = 0; i < 300; ++i) events.stream->write(Buf::heap_copy("0123456789"));
  events.stream->write(Buf::of_static(""));
  EXPECT_EQ(events.stream->unsent(), 3000U);
  std::string got;
  ASSERT_TRUE(rig->until([&] {
    got += far->read(1000);
    EXPECT_EQ(events.sent + events.stream->unsent(), 3000U);
    return got.size() == 3000;
  }));
  std::string want;
  for (int i = 0; i < 300; ++i) want += "0123456789";
  EXPECT_EQ(got, want);
  EXPECT_EQ(events.sent, 3000U);
}

TEST_P(ReactorStreams, TellsWhenThePeerHasAll) {
  Recorder events;
  const auto far = open(events);
  EXPECT_EQ(events.stream->unconfirmed(), 0U);
  const std::string text = pattern(std::size_t{16} << 20, 6);  // more than kernels take
  events.stream->write(Buf::heap_copy(text));
  EXPECT_EQ(events.stream->unconfirmed(), text.size());
  std::size_t got = 0;
  ASSERT_TRUE(rig->until([&] {
    EXPECT_GE(events.stream->unconfirmed(), events.stream->unsent());
    got += far->read(1 << 20).size();
    return got == text.size();
  }));
  EXPECT_TRUE(rig->until([&] { return events.stream->unconfirmed() == 0; }));
}

TEST_P(ReactorStreams, ABufIsReleasedWhenItsBytesAreReportedSent) {
  struct Counted : base::Storage {
    static void done(base::Storage* s) noexcept { static_cast<Counted*>(s)->released = true; }
    bool released = false;
  } storage;
  storage.release = &Counted::done;
  const std::string text = pattern(100, 3);
  Recorder events;
  const auto far = open(events);
  events.stream->write(Buf(&storage, reinterpret_cast<const std::byte*>(text.data()), text.size()));
  bool released_in_time = false;
  events.when_sent = [&] { released_in_time = events.sent < 100 || storage.released; };
  ASSERT_TRUE(rig->until([&] { return events.sent == 100; }));
  EXPECT_TRUE(released_in_time);
}

// Our side keeps 64 KiB unsent at most and reads 4 KiB at a time; the other end reads slowly too.
TEST_P(ReactorStreams, CarriesAMebibyteBothWaysPastASlowReader) {
  constexpr std::size_t kSize = 1 << 20;
  constexpr std::size_t kHighWater = 64 << 10;
  const std::string up = pattern(kSize, 4);
  const std::string down = pattern(kSize, 5);
  Recorder events;
  const auto far = open(events);
  std::size_t queued = 0;
  std::size_t most_unsent = 0;
  const auto fill = [&] {
    while (queued < kSize && events.stream->unsent() < kHighWater) {
      const std::size_t size = std::min<std::size_t>(7777, kSize - queued);
      events.stream->write(Buf::heap_copy(std::string_view(down).substr(queued, size)));
      queued += size;
      most_unsent = std::max(most_unsent, events.stream->unsent());
      if (queued == kSize) events.stream->end_write();
    }
  };
  events.when_sent = fill;
  events.when_bytes = [&] {
    if (events.bytes.size() == events.granted) events.grant(4096);
  };
  events.grant(4096);
  fill();
  std::string got;
  std::string_view left = up;
  bool ended = false;
  ASSERT_TRUE(rig->until([&] {
    left.remove_prefix(far->send(left.substr(0, 10000)));
    if (left.empty() && !std::exchange(ended, true)) far->end();
    got += far->read(3000);
    return events.ended && far->ended();
  }));
  EXPECT_TRUE(events.bytes == up);
  EXPECT_TRUE(got == down);
  EXPECT_EQ(events.sent, kSize);
  EXPECT_LE(most_unsent, kHighWater + 7777);
  EXPECT_FALSE(events.over_credit);
}

TEST_P(ReactorStreams, AReaderThatStopsHoldsTheWriterBack) {
  Recorder events;
  const auto far = open(events);
  const std::string text = pattern(100000, 6);
  std::size_t taken = 0;
  int full = 0;
  ASSERT_TRUE(rig->until([&] {  // until the other end has had no room for many turns
    const std::size_t now = far->send(text);
    taken += now;
    full = now == 0 ? full + 1 : 0;
    return full > 20;
  }));
  EXPECT_EQ(events.bytes, "");
  EXPECT_LT(taken, std::size_t{64} << 20);
}

}  // namespace
}  // namespace steelyard::io::conformance
