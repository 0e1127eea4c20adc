#include "steelyard/http/rewrite.h"

#include <gtest/gtest.h>

#include "steelyard/http/framing.h"
#include "steelyard/http/scan.h"
#include "steelyard/http/target.h"

namespace steelyard::http {
namespace {

struct Parsed {
  explicit Parsed(std::string_view head_text, Method asked = Method::kOther)
      : text(head_text), fields(100) {
    const bool request = asked == Method::kOther;
    ScanProgress progress;
    StartLine start;
    Reset bad;
    const ScanState state = scan_head(text, request ? ScanKind::kRequest : ScanKind::kResponse,
                                      {65536, 100, 8192}, progress, start, fields, bad);
    EXPECT_EQ(state, ScanState::kDone) << bad.text;
    const std::span<Field> used = std::span(fields).first(progress.fields);
    meaning =
        request ? understand_request(start, used, Http1Limits{.max_body = 0, .connect = true}, head)
                : understand_response(start, used, {.method = asked, .upgrade = {}}, head);
    EXPECT_TRUE(meaning.ok) << meaning.bad.text;
  }
  std::string request(const RequestEdits& edits) const {
    std::string out(request_bound(head, edits), '\0');
    const std::size_t size = write_request(head, edits, out.data());
    EXPECT_LE(size, out.size());
    return out.substr(0, size);
  }
  std::string response() const {
    std::string out(response_bound(head), '\0');
    const std::size_t size = write_response(head, out.data());
    EXPECT_LE(size, out.size());
    return out.substr(0, size);
  }
  std::string text;
  std::vector<Field> fields;
  Head head;
  Meaning meaning;
};

TEST(Rewrite, TakesOutWhatBelongsToOneConnectionAndAddsWhoAskedAndHow) {
  const Parsed p(
      "POST http://Shop.example:8080/a?b=c HTTP/1.1\r\nHost: other\r\nConnection: keep-alive, "
      "X-Hop,Upgrade\r\n"
      "Keep-Alive: 5\r\nProxy-Connection: x\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: "
      "x\r\nX-Hop: 1\r\n"
      "X-Forwarded-For: 1.1.1.1\r\nAccept: */*\r\nx-forwarded-for: 2.2.2.2\r\nX-Forwarded-Proto: "
      "https\r\n"
      "X-Forwarded-Host: evil\r\nX-Request-Id: theirs\r\nContent_Length: "
      "9\r\nEndpoint-Load-Metrics: x\r\n"
      "Via: 1.0 other\r\nContent-Length: 005\r\n\r\n");
  EXPECT_EQ(p.head.upgrade, "") << "h2c, and a body";
  EXPECT_EQ(
      p.request({.peer_ip = "9.9.9.9", .scheme = "http", .request_id = "id-1"}),
      "POST /a?b=c HTTP/1.1\r\nHost: Shop.example:8080\r\nAccept: */*\r\nVia: 1.0 "
      "other\r\nContent-Length: 5\r\n"
      "X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-Proto: http\r\n"
      "X-Forwarded-Host: Shop.example:8080\r\nX-Request-Id: id-1\r\nVia: 1.1 steelyard\r\n\r\n");
}

TEST(Rewrite, KeepsWhatATrustedPeerSaidAndTheClientsRequestId) {
  const Parsed p(
      "GET / HTTP/1.0\r\nHost: a\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: "
      "b\r\nX-Request-Id: r\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(p.request({.via = "", .trust_forwarded = true}),
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: "
            "b\r\nX-Request-Id: r\r\n\r\n");
}

TEST(Rewrite, GivesARequestThatNamesNoHostTheOneOfItsListener) {
  const Parsed p("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_EQ(p.request({.scheme = "", .host = "10.0.0.1:80", .via = ""}),
            "GET /a HTTP/1.1\r\nHost: 10.0.0.1:80\r\n\r\n");
  const Parsed named("GET /a HTTP/1.0\r\nHost: b\r\n\r\n");
  EXPECT_EQ(named.request({.scheme = "", .host = "10.0.0.1:80", .via = ""}),
            "GET /a HTTP/1.1\r\nHost: b\r\nX-Forwarded-Host: b\r\n\r\n");
}

TEST(Rewrite, GivesAQueryWithoutPathItsSlash) {
  const Parsed p("GET http://a?q HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(p.request({.scheme = "", .via = ""}),
            "GET /?q HTTP/1.1\r\nHost: a\r\nX-Forwarded-Host: a\r\n\r\n");
}

TEST(Rewrite, WritesTheLengthOfAnAnswerWhereItMayStand) {
  struct Row {
    std::string_view name, head, out;
    Method asked;
  };
  for (const Row& row :
       {Row{"200",
            "HTTP/1.0 200 Fine\r\nConnection: close\r\nContent-Length: 5\r\nContent-Length: "
            "5\r\n\r\n",
            "HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\n", Method::kGet},
        Row{"204", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nA: b\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n", Method::kGet},
        Row{"304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", Method::kGet},
        Row{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", Method::kHead},
        Row{"chunked", "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n",
            "HTTP/1.1 200 \r\nTrailer: X\r\n\r\n", Method::kGet}}) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Parsed(row.head, row.asked).response(), row.out);
  }
}

TEST(Rewrite, WritesHeadsOfItsOwnAnswersWithinTheBound) {
  std::string out(kAnswerBound, '\0');
  out.resize(write_answer_head(503, "text/plain", 18446744073709551615ULL, out.data()));
  EXPECT_EQ(out,
            "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: "
            "18446744073709551615\r\n\r\n");
}

TEST(Authority, IsAHostWithPerhapsAPortAndNothingElse) {
  for (const std::string_view good : {"a", "a.example", "A-1.b_c~d", "a:80", "a:", "[::1]",
                                      "[2001:db8::1]:65535", "10.0.0.1:1", "a%2eb"}) {
    EXPECT_TRUE(valid_authority(good)) << good;
  }
  for (const std::string_view bad :
       {"",      ":80", "a b", "u@a", "a:80:80", "a:65536", "a:x", "[]",       "[::1", "[::1]x",
        "[::g]", "a,b", "a;",  "a}",  "a%2",     "a%zz",    "a%",  "http://a", "a/b",  "\x80"}) {
    EXPECT_FALSE(valid_authority(bad)) << bad;
  }
}

TEST(FieldNames, AreRecognisedInAnyCaseAndOnlyWhole) {
  EXPECT_EQ(field_of("cOnTeNt-LeNgTh"), FieldId::kContentLength);
  EXPECT_EQ(field_of("content_length"), FieldId::kOther);
  EXPECT_EQ(field_of("content-lengt"), FieldId::kOther);
  EXPECT_EQ(field_of("TE"), FieldId::kTe);
  EXPECT_EQ(field_of("endpoint-load-metrics-bin"), FieldId::kLoadReport);
  EXPECT_EQ(field_of(""), FieldId::kOther);
  EXPECT_TRUE(same_word("Keep-Alive", "keep-alive"));
  EXPECT_FALSE(same_word("[", "{")) << "only letters have two cases";
}

}  // namespace
}  // namespace steelyard::http
