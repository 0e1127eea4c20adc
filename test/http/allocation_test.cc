// No allocation per message after warm-up: counted by replacing operator new in this test binary.

#include <cstdlib>
#include <gtest/gtest.h>
#include <new>

#include "steelyard/http/http1_pool.h"

#include "test/http/recorder.h"

namespace {
std::size_t allocations = 0;
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* at = std::malloc(size)) return at;
  std::abort();
}
[[gnu::noinline]] void* operator new(std::size_t size,
                                     const std::nothrow_t&) noexcept {  // std::stable_sort
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace steelyard::http::testing {
namespace {

class Quiet final : public CodecEvents {  // a driver that allocates nothing itself
 public:
  Codec* codec = nullptr;
  char memory[4096];
  int ends = 0;
  void on_head(StreamId, const Head& head) noexcept override {
    const RequestEdits edits{.peer_ip = "10.0.0.1", .request_id = "r"};
    EXPECT_LE(request_bound(head, edits), sizeof memory);
    write_request(head, edits, memory);
  }
  void on_body(StreamId id, base::Buf bytes) noexcept override { codec->grant(id, bytes.size()); }
  void on_trailers(StreamId, std::span<const Field>) noexcept override {}
  void on_end(StreamId id) noexcept override {
    ++ends;
    codec->send_head(id, OutHead{base::Buf::of_static("HTTP/1.1 200 OK\r\n\r\n"), Method::kOther,
                                 200, Body::kStream, 0});
    codec->send_body(id, base::Buf::of_static("hello"));
    codec->send_end(id);
  }
  void on_reset(StreamId, const Reset&) noexcept override {}
  void on_writable(StreamId) noexcept override {}
  void on_output(base::Buf) noexcept override {}
  void on_credit(std::size_t) noexcept override {}
  void on_pending() noexcept override {}
  void on_refused(const Reset&, std::string_view) noexcept override { ADD_FAILURE(); }
  void on_close(Close) noexcept override { ADD_FAILURE(); }
  Room room(std::size_t) noexcept override {
    return {base::Buf(nullptr, reinterpret_cast<std::byte*>(memory), 256), memory};
  }
};

TEST(Http1Allocations, AreNoneAfterWarmUpWhateverTheCuts) {
  Quiet events;
  auto codec = make_http1_server(make_http1_pool(), events);
  events.codec = codec.get();
  codec->start();
  constexpr std::string_view kText =
      "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-A: "
      "b\r\n\r\n5\r\nhello\r\n0\r\nX-T: v\r\n\r\n"
      "GET /b HTTP/1.1\r\nHost: x\r\n\r\n";
  const auto round = [&] {
    for (const std::size_t step : {kText.size(), std::size_t{1}, std::size_t{7}, std::size_t{40}}) {
      for (std::size_t at = 0; at < kText.size(); at += step) {
        codec->receive(base::Buf::of_static(kText.substr(at, step)));
      }
    }
  };
  round();
  const std::size_t before = allocations;
  for (int i = 0; i < 10; ++i) round();
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(events.ends, 11 * 4 * 2);
}

TEST(Http1Pool, KeepsNoMoreThanItsShareAfterAFlood) {
  auto pool = make_http1_pool();
  Recorder seen;
  std::vector<std::unique_ptr<ServerCodec>> codecs;
  for (int i = 0; i < 200; ++i) {
    codecs.push_back(make_http1_server(pool, seen));
    codecs.back()->receive(base::Buf::heap_copy("GET / HTTP/1.1\r\nX: " + std::string(60000, 'x')));
  }
  codecs.clear();
  const std::size_t before = allocations;
  for (int i = 0; i < 200; ++i) {
    codecs.push_back(make_http1_server(pool, seen));
    codecs.back()->receive(base::Buf::heap_copy("GET / HTTP/1.1\r\nX: " + std::string(60000, 'x')));
  }
  EXPECT_GT(allocations, before + 200)
      << "most of the flood's blocks were given back to the system";
}

TEST(Http1Pool, GivesUpWhatNoLoadOfTheLastMinuteNeeded) {
  auto pool = make_http1_pool();
  Recorder seen;
  const auto crowd = [&](int many) {
    std::vector<std::unique_ptr<ServerCodec>> codecs;
    for (int i = 0; i < many; ++i) {
      codecs.push_back(make_http1_server(pool, seen));
      codecs.back()->receive(base::Buf::of_static("GET / HTTP/1.1\r\nX: "));
    }
  };
  crowd(500);
  std::size_t freed = 0;
  for (int second = 0; second < 70; ++second) {
    crowd(3);
    freed += trim(*pool, true);
    freed += trim(*pool, false);
  }
  EXPECT_EQ(freed, 497U * 2048);
  const std::size_t before = pool->blocks_made();
  crowd(3);
  EXPECT_EQ(pool->blocks_made(), before);
}

}  // namespace
}  // namespace steelyard::http::testing
