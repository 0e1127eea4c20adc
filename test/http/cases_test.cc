// Troubles that others reported, by their ids: what requests may hold, as far as a codec decides
// it.

#include <gtest/gtest.h>

#include "test/http/cases_rig.h"

namespace steelyard::http::testing {
namespace {

TEST(Cases, KAL_04_KeepsAConnectionOnlyBehindAWholeAnswer) {
  const Asked whole("HTTP/1.1 500 E\r\nContent-Length: 4\r\n\r\nfour");
  EXPECT_TRUE(whole.codec->can_open());
  Asked cut("HTTP/1.1 500 E\r\nContent-Length: 5\r\n\r\nfour");
  EXPECT_FALSE(cut.codec->can_open());
  cut.codec->reset(StreamId{1}, Why::kCancelled);
  EXPECT_EQ(cut.seen.how, Close::kAbort);
}

TEST(Cases, KAL_08_NeverServesTheBodyOfADeniedRequest) {
  Recorder seen;
  auto codec = make_http1_server(make_http1_pool(), seen);
  seen.when_head = [&](StreamId id) { send_answer(*codec, id, 403, "no"); };
  codec->start();
  codec->receive(base::Buf::heap_copy(
      "POST /deny HTTP/1.1\r\nHost: t\r\nContent-Length: 39\r\n\r\nGET /evil HTTP/1.1\r\nHost: "
      "t\r\n\r\n12345678GET /ok HTTP/1.1\r\nHost: t\r\n\r\n"));
  while (seen.pending-- > 0) codec->resume();
  std::vector<std::string> targets;
  for (const Message& m : seen.messages) targets.push_back(m.target);
  EXPECT_EQ(targets, (std::vector<std::string>{"/deny", "/ok"}));
}

TEST(Cases, FRM_01_RefusesBothFramings) {
  for (const std::string_view te : {"chunked", "Chunked", "\tchunked\t \t", "  chunked"}) {
    const std::string coding = "Transfer-Encoding:" + std::string(te) + "\r\n";
    expect_refused(request("Content-Length: 0\r\n" + coding) + "1c\r\nGET /x HTTP/1.1\r\n", 400);
    expect_refused(request(coding + "Content-Length: 5\r\n") + "0\r\n\r\n", 400);
    expect_refused(
        request("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n" + coding),
        400);
  }
}

TEST(Cases, FRM_02_TakesBlanksOffACoding) {
  for (const std::string_view te : {"\tchunked", "chunked\t", "  chunked \t"}) {
    const Served s(request("Transfer-Encoding: " + std::string(te) + "\r\n") +
                   "2\r\nok\r\n0\r\n\r\n");
    EXPECT_EQ(s.seen.messages.at(0).body, "ok");
    EXPECT_TRUE(s.seen.messages.at(0).ended);
  }
}

TEST(Cases, FRM_04_RefusesUnknownCodings) {
  expect_refused(request("Transfer-Encoding: foo\r\n"), 501);
  expect_refused(request("Transfer-Encoding: identity\r\n"), 501);
  expect_refused(request("Transfer-Encoding: identity, chunked\r\n"), 501);
  expect_refused(request("Transfer-Encoding: ,chunked\r\n"), 501);
  expect_refused(request("Transfer-Encoding: chunked,\r\n"), 501);
  expect_refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
}

TEST(Cases, FRM_05_RefusesTwoLengths) {
  expect_refused(request("Content-Length: 0\r\nContent-Length: 38\r\n"), 400);
  expect_refused(request("Content-Length: 38\r\ncontent-LENGTH: 0\r\n"), 400);
  expect_refused(request("Content-Length: 0, 38\r\n"), 400);
}

TEST(Cases, FRM_07_RefusesAnEmptyLengthAndPassesOtherEmptyFields) {
  expect_refused(request("Content-Length: \r\n"), 400);
  expect_refused("GET / HTTP/1.1\r\nHost: t\r\nHost: t\r\n\r\n", 400);
  expect_refused("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400);
  for (const std::string_view field : {"X-Empty:\r\n", "X-Empty: \r\n"}) {
    EXPECT_NE(Served(request(field)).seen.messages.at(0).head.find("\r\nX-Empty: \r\n"),
              std::string::npos);
  }
}

TEST(Cases, FRM_09_RefusesBlanksBeforeAColonAndBadNames) {
  for (const std::string_view field : {"Transfer-Encoding : chunked", "Content-Length\t: 5",
                                       "X : y", " : v", ": v", "Na me: v", "Name", "N\x80me: v"})
    expect_refused(request(std::string(field) + "\r\n"), 400);
}

TEST(Cases, FRM_10_RefusesFoldedLines) {
  for (const std::string_view fields : {"X-Any: a\r\n b\r\n", "X-Any: a\r\n\tb\r\n",
                                        "Content-Length:\r\n 5\r\n", "X-Any: a\r\n  \r\n"})
    expect_refused(request(fields), 400);
  expect_refused("GET / HTTP/1.1\r\nHost: ex\r\n\tample.test\r\n\r\n", 400);
}

TEST(Cases, FRM_12_TakesTheTargetsHost) {
  struct Row {
    std::string_view line, start, host;
  };
  for (const Row& row : {Row{"GET http://foo.test/", "GET / ", "foo.test"},
                         Row{"GET http://foo.test:8080", "GET / ", "foo.test:8080"},
                         Row{"GET HTTP://FOO.test/", "GET / ", "FOO.test"},
                         Row{"GET https://foo.test/", "GET / ", "foo.test"},
                         Row{"OPTIONS http://foo.test", "OPTIONS * ", "foo.test"},
                         Row{"OPTIONS http://foo.test/", "OPTIONS / ", "foo.test"},
                         Row{"OPTIONS *", "OPTIONS * ", "anything"}}) {
    SCOPED_TRACE(row.line);
    const Served s(std::string(row.line) + " HTTP/1.1\r\nHost: anything\r\n\r\n");
    EXPECT_TRUE(s.seen.messages.at(0).head.starts_with(
        std::string(row.start) + "HTTP/1.1\r\nHost: " + std::string(row.host) + "\r\n"));
  }
  expect_refused("GET http://u@foo.test/ HTTP/1.1\r\nHost: anything\r\n\r\n", 400);
}

TEST(Cases, FRM_13_ComparesNamesAsAWhole) {
  const Asked a(
      "HTTP/1.1 200 OK\r\nContent-Length-Log: 0\r\nX-Content-Length: 9\r\n"
      "Transfer-Encodings: chunked\r\ncontent-length: 5\r\n\r\nhello");
  EXPECT_EQ(a.answer().body, "hello");
  EXPECT_TRUE(a.answer().ended);
  EXPECT_TRUE(a.codec->can_open());
}

TEST(Cases, FRM_15_GivesAnOldClientPlainBytesAndNoInterimAnswers) {
  Recorder seen;
  auto codec = make_http1_server(make_http1_pool(), seen);
  seen.when_end = [&](StreamId id) {
    codec->send_head(id, OutHead{base::Buf::of_static("HTTP/1.1 103 E\r\n\r\n"), Method::kOther,
                                 103, Body::kNone, 0});
    codec->send_head(id, OutHead{base::Buf::of_static("HTTP/1.1 200 OK\r\n\r\n"), Method::kOther,
                                 200, Body::kStream, 0});
    codec->send_body(id, base::Buf::of_static("plain"));
    const Field trailer{"X-Sum", "9"};
    codec->send_trailers(id, {&trailer, 1});
    codec->send_end(id);
  };
  codec->receive(base::Buf::of_static("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(seen.output, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nplain");
  EXPECT_TRUE(seen.closed);
}

TEST(Cases, FRM_16_AnswersHeadsBeyondTheLimitsWith431) {
  const auto fields = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "a: b\r\n";
    return request(out, "GET");
  };
  EXPECT_EQ(Served(fields(99)).status(), 200);  // and Host
  EXPECT_EQ(Served(fields(100)).status(), 431);
  EXPECT_EQ(Served(fields(10'000)).status(), 431);
  EXPECT_EQ(Served(request("Cookie: " + std::string(60'000, 'c') + "\r\n", "GET")).status(), 200);
  EXPECT_EQ(Served(request("Cookie: " + std::string(70'000, 'c') + "\r\n", "GET")).status(), 431);
}

}  // namespace
}  // namespace steelyard::http::testing
