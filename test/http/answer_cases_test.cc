// Troubles that others reported, by their ids: answers, as far as a codec decides them.

#include <gtest/gtest.h>

#include "test/http/cases_rig.h"

namespace steelyard::http::testing {
namespace {

TEST(Cases, RSP_01_ReadsNoBodyBehind204And304) {
  const Asked not_modified(
      "HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\nETag: \"x\"\r\n\r\n");
  EXPECT_TRUE(not_modified.answer().ended);
  EXPECT_NE(not_modified.answer().head.find("Content-Length: 1234"), std::string::npos);
  EXPECT_TRUE(not_modified.codec->can_open());
  const Asked empty("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(empty.answer().ended);
  EXPECT_EQ(empty.answer().head.find("Content-Length"), std::string::npos);
}

TEST(Cases, RSP_02_KeepsTheLengthInAnAnswerToHead) {
  for (const std::string_view framing : {"Content-Length: 5000", "Transfer-Encoding: chunked"}) {
    const Asked a("HTTP/1.1 200 OK\r\n" + std::string(framing) + "\r\n\r\n", Method::kHead);
    EXPECT_TRUE(a.answer().ended);
    EXPECT_EQ(a.answer().body, "");
    EXPECT_TRUE(a.codec->can_open());
    EXPECT_EQ(a.answer().length, framing.front() == 'C' ? 5000U : 0U);
  }
}

TEST(Cases, RSP_04_AddsNoFramingToA304) {
  Recorder seen;
  auto codec = make_http1_server(make_http1_pool(), seen);
  const Asked bare("HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n");
  seen.when_end = [&](StreamId id) {
    codec->send_head(id, OutHead{base::Buf::heap_copy(bare.answer().head), Method::kOther, 304,
                                 bare.answer().kind, 0});
    codec->send_end(id);
  };
  codec->receive(base::Buf::heap_copy(request("", "GET")));
  EXPECT_EQ(seen.output, "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n");
  EXPECT_FALSE(seen.closed);
}

TEST(Cases, RSP_05_BreaksOffWhatWasCut) {
  for (const std::string_view cut :
       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok"}) {
    Asked a(cut);
    a.codec->receive_end();
    EXPECT_TRUE(a.answer().reset);
    EXPECT_EQ(a.answer().why, Why::kTruncated);
    Recorder seen;
    auto codec = make_http1_server(make_http1_pool(), seen);
    codec->receive(base::Buf::heap_copy(request("", "GET")));
    codec->send_head(StreamId{1}, OutHead{base::Buf::of_static("HTTP/1.1 200 OK\r\n\r\n"),
                                          Method::kOther, 200, Body::kStream, 0});
    codec->send_body(StreamId{1}, base::Buf::of_static("ok"));
    codec->reset(StreamId{1}, Why::kTruncated);
    EXPECT_EQ(seen.output.find("0\r\n\r\n"), std::string::npos);
    EXPECT_EQ(seen.how, Close::kAbort);
  }
}

TEST(Cases, RSP_08_TakesBlanksBeforeAColonOutOfAnAnswer) {
  const Asked a("HTTP/1.1 200 OK\r\nContent-Length : 5\r\nX-A\t: b\r\n\r\nhello");
  EXPECT_EQ(a.answer().body, "hello");
  EXPECT_FALSE(a.answer().clean);
  EXPECT_EQ(a.answer().head, "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(a.codec->can_open());
  for (const std::string_view bad : {" : b", "X A: b", "X-A b", "X-A :", "\tX: b"}) {
    const Asked b("HTTP/1.1 200 OK\r\n" + std::string(bad) + "\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(b.answer().reset, bad != "X-A :") << bad;
  }
}

constexpr std::string_view kHint =
    "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";

TEST(Cases, RSP_09_EarlyHintsComeBeforeTheAnswerAndNotInAStorm) {
  const std::string hint(kHint);
  const Asked a(hint + hint + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(a.answer().interim, (std::vector<std::uint16_t>{103, 103}));
  EXPECT_EQ(a.answer().status, 200);
  EXPECT_EQ(a.answer().body, "ok");
  std::string storm;
  for (int i = 0; i < 150; ++i) storm += hint;
  const Asked many(storm + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(many.answer().why, Why::kProtocol);
}

TEST(Cases, RSP_10_FieldsOfAHintAreNotTheAnswers) {
  const Asked a(std::string(kHint) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(a.answer().interim, (std::vector<std::uint16_t>{103}));
  EXPECT_EQ(a.answer().head.find("Link"), std::string::npos);
}

TEST(Cases, RSP_11_PassesTrailersBothWaysAndKeepsThemOutOfTheHead) {
  const Asked a(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\n"
      "X-Sum: 9\r\nContent-Length: 7\r\nSet-Cookie: a=1\r\nHost: b\r\nX_Sum: 8\r\n\r\n");
  EXPECT_EQ(a.answer().trailers, "X-Sum=9;");
  EXPECT_EQ(a.answer().head.find("X-Sum: 9"), std::string::npos);
  EXPECT_TRUE(a.codec->can_open());
  const Served s(request("Transfer-Encoding: chunked\r\n") +
                 "2\r\nok\r\n0\r\nX-Sum: 9\r\nAuthorization: x\r\n\r\n");
  EXPECT_EQ(s.seen.messages.at(0).trailers, "X-Sum=9;");
  EXPECT_EQ(s.seen.messages.at(0).body, "ok");
}

TEST(Cases, RSP_13_ReadsAnEarlyAnswerWhileTheRequestIsStillSent) {
  Recorder seen;
  auto codec = make_http1_client(make_http1_pool(), seen);
  const StreamId id = codec->open();
  codec->send_head(id, OutHead{base::Buf::of_static("POST / HTTP/1.1\r\n\r\n"), Method::kPost, 0,
                               Body::kLength, 50'000'000});
  codec->send_body(id, base::Buf::heap_copy(std::string(65536, 'x')));
  codec->receive(base::Buf::of_static(
      "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig"));
  EXPECT_EQ(seen.messages.at(0).body, "big");
  EXPECT_TRUE(seen.messages.at(0).ended);
  EXPECT_FALSE(codec->can_open());
}

TEST(Cases, RSP_14_RelaysExpectAndItsEnd) {
  Recorder seen;
  auto codec = make_http1_server(make_http1_pool(), seen);
  codec->start();
  codec->receive(base::Buf::heap_copy(request("Expect: 100-continue\r\nContent-Length: 5\r\n")));
  ASSERT_EQ(seen.messages.size(), 1U);
  EXPECT_TRUE(seen.messages[0].expect);
  EXPECT_NE(seen.messages[0].head.find("Expect: 100-continue"), std::string::npos);
  codec->send_head(StreamId{1}, OutHead{base::Buf::of_static("HTTP/1.1 100 Continue\r\n\r\n"),
                                        Method::kOther, 100, Body::kNone, 0});
  EXPECT_EQ(seen.output, "HTTP/1.1 100 Continue\r\n\r\n");
  codec->receive(base::Buf::of_static("hello"));
  send_answer(*codec, StreamId{1}, 200, "ok");
  EXPECT_FALSE(seen.closed);
  Recorder refused;
  auto other = make_http1_server(make_http1_pool(), refused);
  other->receive(base::Buf::heap_copy(request("Expect: 100-continue\r\nContent-Length: 5\r\n")));
  send_answer(*other, StreamId{1}, 401, "no");
  EXPECT_NE(refused.output.find("Connection: close"), std::string::npos)
      << "whether the body comes cannot be known";
  EXPECT_TRUE(refused.closed);
}

TEST(Cases, RSP_16_TakesLargeAnswerHeadsUpToTheLimit) {
  const auto head = [](std::size_t size) {
    return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: " + std::string(size, 'c') +
           "\r\n\r\n";
  };
  EXPECT_TRUE(Asked(head(3'900)).answer().ended);
  EXPECT_TRUE(Asked(head(60'000)).answer().ended);
  const Asked large(head(1'000'000));
  EXPECT_EQ(large.answer().why, Why::kLimit);
  EXPECT_EQ(large.answer().told, 502);
}

}  // namespace
}  // namespace steelyard::http::testing
