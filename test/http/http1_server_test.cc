#include <gtest/gtest.h>

#include "test/http/recorder.h"

namespace steelyard::http::testing {
namespace {

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kPost = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";

struct Server {
  explicit Server(Http1Limits limits = {})
      : codec(make_http1_server(make_http1_pool(limits), seen)) {
    codec->start();
  }
  void feed(std::string_view text) { codec->receive(base::Buf::heap_copy(text)); }
  void answer_at_end() {
    seen.when_end = [this](StreamId id) { send_answer(*codec, id, 200, "ok"); };
  }
  void head(StreamId id, std::string_view text, std::uint16_t status, Body body,
            std::uint64_t length = 0) {
    codec->send_head(id, OutHead{base::Buf::heap_copy(text), Method::kOther, status, body, length});
  }
  Recorder seen;
  std::unique_ptr<ServerCodec> codec;
};

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(Http1Server, ParsesTheSecondPipelinedRequestOnlyAfterTheFirstIsAnswered) {
  Server s;
  s.feed(std::string(kGet) + "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_EQ(s.seen.messages.size(), 1U);
  EXPECT_TRUE(s.seen.messages[0].ended);
  s.feed("GET /c HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(s.seen.messages.size(), 1U);
  send_answer(*s.codec, StreamId{1}, 200, "one");
  EXPECT_EQ(s.seen.messages.size(), 1U) << "a call must not bring a new stream";
  EXPECT_EQ(s.seen.pending, 1);
  s.codec->resume();
  ASSERT_EQ(s.seen.messages.size(), 2U);
  EXPECT_EQ(s.seen.messages[1].target, "/b");
  send_answer(*s.codec, StreamId{2}, 200, "two");
  EXPECT_EQ(s.seen.pending, 2);
  s.codec->resume();
  send_answer(*s.codec, StreamId{3}, 200, "three");
  EXPECT_EQ(s.seen.messages.size(), 3U);
  EXPECT_LT(s.seen.output.find("one"), s.seen.output.find("two"));
  EXPECT_TRUE(s.codec->idle());
  EXPECT_FALSE(s.seen.closed);
}

TEST(Http1Server, AnswersAllRequestsThatCameBeforeTheClientsEnd) {
  Server s;
  s.feed(std::string(kGet) + std::string(kGet));
  s.codec->receive_end();
  send_answer(*s.codec, StreamId{1}, 200, "one");
  EXPECT_FALSE(s.seen.closed);
  s.codec->resume();
  send_answer(*s.codec, StreamId{2}, 200, "two");
  EXPECT_TRUE(s.seen.closed);
  EXPECT_EQ(s.seen.how, Close::kLinger);
  EXPECT_EQ(count(s.seen.output, "200 OK"), 2U);
  EXPECT_EQ(count(s.seen.output, "Connection: close"), 1U);
}

TEST(Http1Server, SaysHowTheConnectionGoesOn) {
  struct Row {
    std::string_view name, request, connection;
    Body body;
    bool closes, chunked;
  };
  const Row rows[] = {
      {"1.1", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "", Body::kLength, false, false},
      {"1.1 close", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "close",
       Body::kLength, true, false},
      {"1.1 close among others", "GET / HTTP/1.1\r\nHost: x\r\nConnection: x, Close\r\n\r\n",
       "close", Body::kLength, true, false},
      {"1.0", "GET / HTTP/1.0\r\nHost: x\r\n\r\n", "close", Body::kLength, true, false},
      {"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "keep-alive",
       Body::kLength, false, false},
      {"1.0 keep-alive, length unknown", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       "close", Body::kStream, true, false},
      {"1.1, length unknown", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "", Body::kStream, false, true},
      {"1.1 close, length unknown", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
       "close", Body::kStream, true, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Server s;
    s.feed(row.request);
    s.head(StreamId{1}, "HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n", 200, row.body, 2);
    s.codec->send_body(StreamId{1}, base::Buf::heap_copy("o"));
    s.codec->send_body(StreamId{1}, base::Buf::heap_copy("k"));
    s.codec->send_end(StreamId{1});
    std::string wanted = "HTTP/1.1 200 OK\r\nX-A: b\r\n";
    if (row.chunked) wanted += "Transfer-Encoding: chunked\r\n";
    if (!row.connection.empty()) wanted += "Connection: " + std::string(row.connection) + "\r\n";
    wanted += row.chunked ? "\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n" : "\r\nok";
    EXPECT_EQ(s.seen.output, wanted);
    EXPECT_EQ(s.seen.closed, row.closes);
    EXPECT_EQ(s.codec->idle(), !row.closes);
  }
}

TEST(Http1Server, SendsNoBodyWhereNoneMayBe) {
  struct Row {
    std::string_view name, method;
    std::uint16_t status;
    Body body;
  };
  for (const Row& row :
       {Row{"HEAD with length", "HEAD", 200, Body::kNone},
        Row{"HEAD, length unknown", "HEAD", 200, Body::kStream},
        Row{"204", "GET", 204, Body::kStream}, Row{"304", "GET", 304, Body::kLength}}) {
    SCOPED_TRACE(row.name);
    Server s;
    s.feed(std::string(row.method) + " / HTTP/1.1\r\nHost: x\r\n\r\n");
    s.head(StreamId{1}, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", row.status, row.body, 9);
    s.codec->send_body(StreamId{1}, base::Buf::heap_copy("surprise!"));
    s.codec->send_end(StreamId{1});
    EXPECT_EQ(s.seen.output, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
    EXPECT_FALSE(s.seen.closed);
    EXPECT_TRUE(s.codec->idle());
  }
}

TEST(Http1Server, SendsTrailersBehindTheLastChunk) {
  Server s;
  s.feed(kGet);
  s.head(StreamId{1}, "HTTP/1.1 200 OK\r\n\r\n", 200, Body::kStream);
  s.codec->send_body(StreamId{1}, base::Buf::heap_copy("hello"));
  const Field fields[] = {{"X-T", "1", FieldId::kOther, false},
                          {"X-U", "2", FieldId::kOther, true}};
  s.codec->send_trailers(StreamId{1}, fields);
  s.codec->send_end(StreamId{1});
  EXPECT_EQ(
      s.seen.output,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n");
}

TEST(Http1Server, RelaysTrailersButNoneThatFramesOrRoutes) {
  Server s;
  s.feed(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;q=1\r\nhello\r\n0\r\nX-T: "
      "v\r\nHost: y\r\nX_T: w\r\nX-U: \r\n\r\n");
  ASSERT_EQ(s.seen.messages.size(), 1U);
  EXPECT_EQ(s.seen.messages[0].body, "hello");
  EXPECT_EQ(s.seen.messages[0].trailers, "X-T=v;X-U=;");
  EXPECT_TRUE(s.seen.messages[0].ended);
}

// They mean nothing there and are left out; a bad one is somebody's attempt.
TEST(Http1Server, RefusesTrailersWhoseFramingFieldsAreMalformed) {
  struct Row {
    std::string_view trailer;
    bool good;
  };
  for (const Row& row :
       {Row{"Transfer-Encoding: chunked", true}, Row{"Content-Length: 99", true},
        Row{"Transfer-Encoding: chu:nked", false}, Row{"Transfer-Encoding: gzip, chunked", false},
        Row{"Transfer-Encoding:", false}, Row{"Content-Length: 1x", false},
        Row{"Content-Length: 1\r\nContent-Length: 2", false}}) {
    SCOPED_TRACE(row.trailer);
    Server s;
    s.feed("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n0\r\n" +
           std::string(row.trailer) + "\r\nX-T: v\r\n\r\n");
    ASSERT_EQ(s.seen.messages.size(), 1U);
    EXPECT_EQ(s.seen.messages[0].ended, row.good);
    EXPECT_EQ(s.seen.messages[0].trailers, row.good ? "X-T=v;" : "");
    EXPECT_EQ(s.seen.output.starts_with("HTTP/1.1 400 "), !row.good) << s.seen.output;
  }
}

TEST(Http1Server, PassesOn100ContinueAndClosesWhenTheBodyWasNeverAskedFor) {
  const std::string_view head =
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
  {
    Server s;
    s.feed(head);
    ASSERT_TRUE(s.seen.messages[0].expect);
    s.head(StreamId{1}, "HTTP/1.1 100 Continue\r\n\r\n", 100, Body::kNone);
    s.feed("hello");
    send_answer(*s.codec, StreamId{1}, 200, "ok");
    EXPECT_EQ(s.seen.output.rfind("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", 0), 0U);
    EXPECT_FALSE(s.seen.closed);
  }
  Server s;  // refused at once: whether the body still comes, nobody knows
  s.feed(head);
  send_answer(*s.codec, StreamId{1}, 403, "no");
  EXPECT_TRUE(s.seen.closed);
  EXPECT_NE(s.seen.output.find("Connection: close"), std::string::npos);
}

TEST(Http1Server, ThrowsAwayAShortRestOfABodyAndSaysThatItClosesOnALongOne) {
  Server s;
  s.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe");
  send_answer(*s.codec, StreamId{1}, 413, "no");
  EXPECT_FALSE(s.seen.closed);
  EXPECT_FALSE(s.codec->idle());
  s.feed("llo" + std::string(kGet));
  ASSERT_EQ(s.seen.messages.size(), 2U);
  EXPECT_FALSE(s.seen.messages[0].ended) << "the stream was over";
  EXPECT_TRUE(s.seen.messages[1].ended);

  Server t;
  t.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  send_answer(*t.codec, StreamId{1}, 413, "no");
  EXPECT_NE(t.seen.output.find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_TRUE(t.seen.closed);
  EXPECT_EQ(t.seen.how, Close::kLinger);
}

TEST(Http1Server, TellsAMistakeInTheBodyWhileItStillCan) {
  const std::string_view head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  Server s;  // nothing was answered: 400
  s.feed(std::string(head) + "zz\r\n");
  EXPECT_TRUE(s.seen.messages[0].reset);
  EXPECT_EQ(s.seen.messages[0].why, Why::kProtocol);
  EXPECT_EQ(s.seen.output.rfind("HTTP/1.1 400 ", 0), 0U);
  EXPECT_EQ(s.seen.how, Close::kLinger);
  Server t;  // the answer is under way: cut it
  t.feed(head);
  t.head(StreamId{1}, "HTTP/1.1 200 OK\r\n\r\n", 200, Body::kStream);
  t.feed("zz\r\n");
  EXPECT_TRUE(t.seen.messages[0].reset);
  EXPECT_EQ(t.seen.how, Close::kAbort);
  EXPECT_EQ(t.seen.output.find("400"), std::string::npos);
}

TEST(Http1Server, AbortsWhenAnAnswerEndsShortOrIsReset) {
  Server s;
  s.feed(kGet);
  s.head(StreamId{1}, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 200, Body::kLength, 9);
  s.codec->send_body(StreamId{1}, base::Buf::heap_copy("four"));
  s.codec->send_end(StreamId{1});
  EXPECT_TRUE(s.seen.closed);
  EXPECT_EQ(s.seen.how, Close::kAbort);
  Server t;
  t.feed(kGet);
  t.codec->reset(StreamId{1}, Why::kCancelled);
  EXPECT_EQ(t.seen.how, Close::kAbort);
  EXPECT_FALSE(t.seen.messages[0].reset) << "who resets is not told";
}

TEST(Http1Server, RefusesASlowHeadButLeavesAnIdleClientInPeace) {
  Server s;
  EXPECT_TRUE(s.codec->idle());
  s.feed("GET / HT");
  EXPECT_FALSE(s.codec->idle());
  s.codec->refuse(408, "slow");
  EXPECT_EQ(s.seen.output.rfind("HTTP/1.1 408 ", 0), 0U);
  EXPECT_EQ(s.seen.refused_status, 408);
  EXPECT_EQ(s.seen.refused_head, "GET / HT");
  EXPECT_EQ(s.seen.refused_told, s.seen.output.size());
  EXPECT_TRUE(s.seen.closed);
  Server t;
  t.codec->refuse(408, "slow");
  EXPECT_EQ(t.seen.output, "");
  EXPECT_EQ(t.seen.refused, 0);
  EXPECT_TRUE(t.seen.closed);
}

// However the bytes were cut: whoever refuses a head says which, and what it answered.
TEST(Http1Server, TellsTheHeadThatItRefuses) {
  struct Row {
    std::string_view head;
    std::uint16_t status;
  };
  constexpr std::array rows{
      Row{"GET /a HTTP/1.1\r\n\r\n", 400},
      Row{"GET /a HTTP/1.1\r\nHost: t\r\nBad Name: x\r\n", 400},
      Row{"POST /a HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999\r\n\r\n", 413},
  };
  for (const Row& row : rows) {
    for (const std::size_t size : {std::size_t{1}, row.head.size()}) {
      SCOPED_TRACE(std::string(row.head.substr(0, 60)) + " by " + std::to_string(size));
      Server s;
      for (std::size_t at = 0; at < row.head.size(); at += size) s.feed(row.head.substr(at, size));
      EXPECT_EQ(s.seen.refused_status, row.status);
      EXPECT_EQ(s.seen.refused_head, row.head);
      EXPECT_EQ(s.seen.refused_told, s.seen.output.size());
      EXPECT_EQ(s.seen.output.substr(s.seen.output.size() - s.seen.refused_body, 3),
                std::to_string(row.status));
    }
  }
}

TEST(Http1Server, DrainsAtOnceWhenIdleElseAfterTheAnswer) {
  Server s;
  s.codec->drain();
  EXPECT_TRUE(s.seen.closed);
  Server t;
  t.feed(kPost);
  t.codec->drain();
  EXPECT_FALSE(t.seen.closed);
  send_answer(*t.codec, StreamId{1}, 200, "ok");
  EXPECT_TRUE(t.seen.closed);
  EXPECT_EQ(t.seen.how, Close::kLinger);
  EXPECT_NE(t.seen.output.find("Connection: close"), std::string::npos);
}

TEST(Http1Server, AsksForNoMoreBytesThanTheExchangeGranted) {
  Server s;
  EXPECT_EQ(s.seen.credit, kInitialCredit);
  s.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
  std::size_t sent = 55;
  while (sent < s.seen.credit) {  // the transport delivers what it may; the exchange grants nothing
    const std::size_t n = std::min<std::size_t>(1000, s.seen.credit - sent);
    s.feed(std::string(n, 'x'));
    sent += n;
  }
  EXPECT_LE(s.seen.messages[0].body.size(), kInitialCredit);
  EXPECT_GT(s.seen.messages[0].body.size(), kInitialCredit / 2);
  const std::size_t before = s.seen.credit;
  s.codec->grant(StreamId{1}, 5000);
  EXPECT_GT(s.seen.credit, before);
  EXPECT_LE(s.seen.credit - before, 5000 + kInitialCredit - s.seen.messages[0].body.size());
}

TEST(Http1Server, StarvesNeitherChunkFramingNorTheNextRequest) {
  Server s;
  s.answer_at_end();
  s.seen.when_body = [&](StreamId id) { s.codec->grant(id, 1); };
  std::string wire = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 50000; ++i) wire += "1\r\nx\r\n";
  wire += "0\r\n\r\n" + std::string(kGet);
  std::size_t at = 0;
  while (at < wire.size()) {
    ASSERT_GT(s.seen.credit, at) << "starved";
    const std::size_t n = std::min(s.seen.credit - at, wire.size() - at);
    s.feed(std::string_view(wire).substr(at, n));
    at += n;
  }
  ASSERT_EQ(s.seen.messages.size(), 2U);
  EXPECT_EQ(s.seen.messages[0].body.size(), 50000U);
}

TEST(Http1Server, KeepsItsLimitsWhenTheyAreSetOtherwise) {
  struct Row {
    std::string_view name, request, status;
  };
  const std::string long_line = "GET /" + std::string(60, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string large_head =
      "GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(200, 'a') + "\r\n\r\n";
  for (const Row& row :
       {Row{"line", long_line, "414"}, Row{"head", large_head, "431"},
        Row{"fields", "GET / HTTP/1.1\r\nHost: x\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", "431"},
        Row{"body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n", "413"},
        Row{"chunks",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello!\r\n5\r\n",
            "413"}}) {
    SCOPED_TRACE(row.name);
    Server s({.max_head = 200, .max_fields = 3, .max_line = 64, .max_body = 10});
    s.feed(row.request);
    EXPECT_EQ(s.seen.output.substr(9, 3), row.status);
    EXPECT_TRUE(s.seen.closed);
  }
}

TEST(Http1Server, WantsEveryLineEndWhole) {
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& wire :
       {std::string("GET / HTTP/1.1\nHost: x\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: x\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: x\r\n\n"), post + "5\r\nhelloX\n0\r\n\r\n",
        post + "5\r\nhello\rX0\r\n\r\n", post + "0\r\nX-T: v\n\r\n",
        std::string("\nGET / HTTP/1.1\r\n")}) {
    SCOPED_TRACE(wire);
    Server s;
    s.answer_at_end();
    s.feed(wire);
    EXPECT_EQ(s.seen.output.substr(0, 13), "HTTP/1.1 400 ");
    EXPECT_TRUE(s.seen.closed);
  }
}

TEST(Http1Server, HasErrorAnswersWhoseLengthIsTrue) {
  for (const int code : {400, 405, 408, 413, 414, 431, 501, 503, 505}) {
    const auto status = static_cast<std::uint16_t>(code);
    const std::string_view answer = error_answer(status);
    const std::size_t body = answer.find("\r\n\r\n") + 4;
    const std::size_t length = answer.find("Content-Length: ") + 16;
    EXPECT_EQ(std::to_string(answer.size() - body),
              answer.substr(length, answer.find('\r', length) - length))
        << status;
    EXPECT_EQ(answer.substr(body),
              std::to_string(status) + " " + std::string(reason_phrase(status)) + "\n");
  }
}

}  // namespace
}  // namespace steelyard::http::testing
