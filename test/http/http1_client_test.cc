#include <gtest/gtest.h>

#include "test/http/recorder.h"

namespace steelyard::http::testing {
namespace {

struct Client {
  Client() : codec(make_http1_client(make_http1_pool(), seen)) { codec->start(); }
  void feed(std::string_view text) { codec->receive(base::Buf::heap_copy(text)); }
  StreamId get(Method method = Method::kGet) {
    const StreamId id = codec->open();
    codec->send_head(id, OutHead{base::Buf::heap_copy("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), method,
                                 0, Body::kNone, 0});
    codec->send_end(id);
    return id;
  }
  Recorder seen;
  std::unique_ptr<ClientCodec> codec;
};

TEST(Http1Client, TakesOneStreamAfterTheOther) {
  Client c;
  EXPECT_TRUE(c.codec->can_open());
  c.get();
  EXPECT_FALSE(c.codec->can_open());
  EXPECT_EQ(c.codec->open(), StreamId::kNone);
  bool open_in_end = false;
  c.seen.when_end = [&](StreamId) { open_in_end = c.codec->can_open(); };
  c.feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_TRUE(open_in_end) << "may go back to the pool inside on_end";
  EXPECT_EQ(c.get(), StreamId{2});
  c.feed("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  ASSERT_EQ(c.seen.messages.size(), 2U);
  EXPECT_EQ(c.seen.messages[1].status, 404);
  EXPECT_TRUE(c.codec->can_open());
}

TEST(Http1Client, MayBeUsedAgainInsideTheEndOfAnAnswer) {
  Client c;
  c.get();
  c.seen.when_end = [&](StreamId id) {
    if (id == StreamId{1}) c.get();
  };
  c.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_FALSE(c.seen.closed);
  EXPECT_EQ(c.codec->streams(), 1U);
  c.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(c.seen.messages.size(), 2U);
  EXPECT_TRUE(c.codec->can_open());
}

TEST(Http1Client, ChunksABodyOfUnknownLength) {
  Client c;
  const StreamId id = c.codec->open();
  c.codec->send_head(id, OutHead{base::Buf::heap_copy("PUT / HTTP/1.1\r\nHost: x\r\n\r\n"),
                                 Method::kPut, 0, Body::kStream, 0});
  c.codec->send_body(id, base::Buf::heap_copy(std::string(300, 'x')));
  c.codec->send_body(id, base::Buf::heap_copy("y"));
  c.codec->send_end(id);
  EXPECT_EQ(c.seen.output,
            "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n12c\r\n" +
                std::string(300, 'x') + "\r\n1\r\ny\r\n0\r\n\r\n");
}

TEST(Http1Client, KnowsWhetherANodeMayHaveSeenTheRequest) {
  struct Row {
    std::string_view name, bytes;
    Why why;
    bool reset;
  };
  for (const Row& row :
       {Row{"FIN before any byte", "", Why::kClosed, false},
        Row{"RST before any byte", "", Why::kClosed, true},
        Row{"FIN in the head", "HTTP/1.1 2", Why::kTruncated, false},
        Row{"RST in the head", "HTTP/1.1 2", Why::kTruncated, true},
        Row{"FIN after 100", "HTTP/1.1 100 Continue\r\n\r\n", Why::kTruncated, false},
        Row{"RST after 100", "HTTP/1.1 100 Continue\r\n\r\n", Why::kTruncated, true},
        Row{"FIN in the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour", Why::kTruncated,
            false},
        Row{"RST in the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour", Why::kTruncated,
            true}}) {
    SCOPED_TRACE(row.name);
    Client c;
    c.get();
    if (!row.bytes.empty()) c.feed(row.bytes);
    row.reset ? c.codec->receive_failed() : c.codec->receive_end();
    ASSERT_EQ(c.seen.messages.size(), 1U);
    EXPECT_TRUE(c.seen.messages[0].reset);
    EXPECT_EQ(c.seen.messages[0].why, row.why);
    EXPECT_EQ(c.seen.messages[0].told, 502);
    EXPECT_FALSE(c.codec->can_open());
  }
}

TEST(Http1Client, ClosesAfterAnEarlyAnswerAndDiesOfUnaskedBytes) {
  Client c;
  const StreamId id = c.codec->open();
  c.codec->send_head(id, OutHead{base::Buf::heap_copy("POST / HTTP/1.1\r\n\r\n"), Method::kPost, 0,
                                 Body::kLength, 9});
  c.codec->send_body(id, base::Buf::heap_copy("four"));
  c.feed("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(c.seen.messages[0].ended);
  EXPECT_FALSE(c.seen.closed) << "the rest of the request may still be sent";
  c.codec->reset(id, Why::kCancelled);
  EXPECT_EQ(c.seen.how, Close::kAbort);
  Client d;
  d.feed("x");
  EXPECT_TRUE(d.seen.closed);
  EXPECT_EQ(d.seen.how, Close::kAbort);
}

TEST(Http1Client, NeverLendsAPoisonedConnectionNotEvenInsideTheEnd) {
  Client c;
  c.get();
  bool open_in_end = true;
  c.seen.when_end = [&](StreamId) { open_in_end = c.codec->can_open(); };
  c.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n");
  EXPECT_FALSE(open_in_end);
  EXPECT_EQ(c.seen.how, Close::kAbort);
  Client d;  // the request is not over
  const StreamId id = d.codec->open();
  d.codec->send_head(id, OutHead{base::Buf::heap_copy("POST / HTTP/1.1\r\n\r\n"), Method::kPost, 0,
                                 Body::kLength, 1});
  d.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  d.codec->send_body(id, base::Buf::heap_copy("x"));
  d.codec->send_end(id);
  EXPECT_FALSE(d.codec->can_open());
  EXPECT_EQ(d.seen.how, Close::kLinger);
}

TEST(Http1Client, CountsNoChunkBeyondWhatLengthsCanHold) {
  for (const std::string_view sizes :
       {"8000000000000000\r\n", "ffffffffffffffff\r\n", "5\r\nhello\r\n7ffffffffffffffb\r\n"}) {
    Client c;
    c.get();
    c.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(sizes));
    EXPECT_TRUE(c.seen.messages[0].reset) << sizes;
    EXPECT_EQ(c.seen.how, Close::kAbort);
  }
}

TEST(Http1Client, StopsAStormOfInterimAnswers) {
  Client c;
  c.get();
  for (int i = 0; i < 100 && !c.seen.closed; ++i) c.feed("HTTP/1.1 102 Processing\r\n\r\n");
  EXPECT_TRUE(c.seen.closed);
  EXPECT_TRUE(c.seen.messages[0].reset);
  EXPECT_LE(c.seen.messages[0].interim.size(), 64U);
}

TEST(Http1Client, TellsWhichHeadsMayPassUntouched) {
  struct Row {
    std::string_view name, head;
    bool clean;
  };
  for (const Row& row :
       {Row{"plain", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: b\r\n\r\n", true},
        Row{"keep-alive", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
            false},
        Row{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false},
        Row{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false},
        Row{"1.2", "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n", false},
        Row{"length twice", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
            false},
        Row{"length with zeros", "HTTP/1.1 200 OK\r\nContent-Length: 00\r\n\r\n", false},
        Row{"length in 204", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", false},
        Row{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false},
        Row{"load report",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nEndpoint-Load-Metrics: x\r\n\r\n", false},
        Row{"underscore", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX_A: x\r\n\r\n", false}}) {
    SCOPED_TRACE(row.name);
    Client c;
    c.get();
    c.feed(row.head);
    ASSERT_EQ(c.seen.messages.size(), 1U);
    EXPECT_EQ(c.seen.messages[0].clean, row.clean);
    if (row.clean) {
      EXPECT_EQ(c.seen.messages[0].raw, row.head);
    }
  }
}

TEST(Http1Client, ReadsABodyUntilTheConnectionEnds) {
  Client c;
  c.get();
  c.feed("HTTP/1.1 200 OK\r\n\r\nab");
  c.feed("cd");
  EXPECT_FALSE(c.seen.messages[0].ended);
  c.codec->receive_end();
  EXPECT_TRUE(c.seen.messages[0].ended);
  EXPECT_EQ(c.seen.messages[0].body, "abcd");
  EXPECT_TRUE(c.seen.closed);
}

TEST(Http1Client, LeavesThePoolWhenTheNodeClosesIt) {
  Client c;
  c.get();
  c.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(c.codec->can_open());
  c.codec->receive_end();
  EXPECT_FALSE(c.codec->can_open());
  EXPECT_EQ(c.seen.how, Close::kLinger);
  Client d;
  d.get();
  d.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_FALSE(d.codec->can_open());
  EXPECT_TRUE(d.seen.closed);
}

}  // namespace
}  // namespace steelyard::http::testing
