// Tunnels: Upgrade and CONNECT, on both sides.

#include <gtest/gtest.h>

#include "test/http/recorder.h"

namespace steelyard::http::testing {
namespace {

constexpr std::string_view kSocket =
    "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: k\r\n\r\n";
constexpr std::string_view kNext = "GET /next HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr StreamId kFirst{1};

struct Server {
  explicit Server(Http1Limits limits = {.connect = true})
      : codec(make_http1_server(make_http1_pool(limits), seen)) {
    seen.upgrade = true;
    codec->start();
  }
  void feed(std::string_view text) { codec->receive(base::Buf::heap_copy(text)); }
  void accept(std::uint16_t status = 101, StreamId id = kFirst) {
    const std::string_view text =
        status == 101 ? "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
                      : "HTTP/1.1 200 OK\r\n\r\n";
    OutHead head;
    head.bytes = base::Buf::of_static(text);
    head.status = status;
    head.body = Body::kTunnel;
    codec->send_head(id, std::move(head));
  }
  void send(std::string_view text) { codec->send_body(kFirst, base::Buf::heap_copy(text)); }
  Message& message(std::size_t i = 0) { return seen.messages.at(i); }
  Recorder seen;
  std::unique_ptr<ServerCodec> codec;
};

struct Client {
  Client() : codec(make_http1_client(make_http1_pool(), seen)) { codec->start(); }
  StreamId ask(std::string_view offered) {
    const StreamId id = codec->open();
    OutHead head;
    head.bytes = base::Buf::heap_copy(
        "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: " + std::string(offered) + "\r\n\r\n");
    head.method = Method::kGet;
    head.upgrade = true;
    codec->send_head(id, std::move(head));
    codec->send_end(id);
    return id;
  }
  StreamId connect() {
    const StreamId id = codec->open();
    OutHead head;
    head.bytes = base::Buf::of_static("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");
    head.method = Method::kConnect;
    codec->send_head(id, std::move(head));
    codec->send_end(id);
    return id;
  }
  void feed(std::string_view text) { codec->receive(base::Buf::heap_copy(text)); }
  Message& message(std::size_t i = 0) { return seen.messages.at(i); }
  Recorder seen;
  std::unique_ptr<ClientCodec> codec;
};

TEST(ServerTunnel, IsCompleteWithItsHeadAndCarriesBytesOnceAccepted) {
  Server s;
  s.feed(kSocket);
  EXPECT_EQ(s.message().upgrade, "websocket");
  EXPECT_TRUE(s.message().ended);
  s.message().ended = false;
  s.accept();
  EXPECT_EQ(s.seen.output,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\n\r\n");
  s.feed(kNext);
  s.feed("\r\n");
  EXPECT_EQ(s.seen.messages.size(), 1U);
  EXPECT_EQ(s.message().body, std::string(kNext) + "\r\n");
  s.seen.output.clear();
  s.send("down");
  EXPECT_EQ(s.seen.output, "down");
  EXPECT_FALSE(s.codec->idle());
  EXPECT_FALSE(s.seen.closed);
}

TEST(ServerTunnel, EndsEachWayByItself) {
  for (const bool client_first : {true, false}) {
    SCOPED_TRACE(client_first);
    Server s;
    s.feed(kSocket);
    s.message().ended = false;
    s.accept();
    if (client_first) {
      s.feed("last");
      s.codec->receive_end();
      EXPECT_TRUE(s.message().ended);
      EXPECT_EQ(s.message().body, "last");
      EXPECT_FALSE(s.seen.closed);
      s.send("still");
      EXPECT_TRUE(s.seen.output.ends_with("still"));
      s.codec->send_end(kFirst);
      EXPECT_FALSE(s.seen.output_ended) << "on_close says it";
    } else {
      s.codec->send_end(kFirst);
      EXPECT_TRUE(s.seen.output_ended);
      EXPECT_FALSE(s.seen.closed);
      s.feed("more");
      EXPECT_EQ(s.message().body, "more");
      s.codec->receive_end();
      EXPECT_TRUE(s.message().ended);
    }
    EXPECT_TRUE(s.seen.closed);
    EXPECT_EQ(s.seen.how, Close::kLinger);
    EXPECT_EQ(s.codec->streams(), 0U);
  }
}

TEST(ServerTunnel, HoldsEarlyBytesBackAndBringsThemFromACleanStack) {
  Server s;
  s.feed(std::string(kSocket) + "early ");
  s.feed("bird");
  const std::size_t granted = s.seen.credit;
  EXPECT_LE(granted, 2 * kInitialCredit) << "what waits is bounded";
  s.codec->receive_end();
  EXPECT_EQ(s.message().body, "");
  s.message().ended = false;
  s.accept();
  EXPECT_EQ(s.message().body, "") << "not inside the call";
  EXPECT_EQ(s.seen.pending, 1);
  s.codec->resume();
  EXPECT_EQ(s.message().body, "early bird");
  EXPECT_TRUE(s.message().ended);
  EXPECT_EQ(s.seen.messages.size(), 1U);
}

TEST(ServerTunnel, KeepsTheOrderWhenMoreComesBeforeResume) {
  Server s;
  s.feed(std::string(kSocket) + "one ");
  s.accept();
  s.feed("two ");
  s.codec->resume();
  s.feed("three");
  EXPECT_EQ(s.message().body, "one two three");
}

TEST(ServerTunnel, MayBeAcceptedInsideTheHeadOrTheEnd) {
  for (const bool in_head : {true, false}) {
    for (const bool end_too : {true, false}) {
      SCOPED_TRACE(std::to_string(in_head) + std::to_string(end_too));
      Server s;
      bool done = false;
      const auto now = [&](StreamId) {
        if (std::exchange(done, true)) return;
        s.accept();
        if (end_too) s.codec->send_end(kFirst);
      };
      (in_head ? s.seen.when_head : s.seen.when_end) = now;
      s.feed(std::string(kSocket) + "early");
      EXPECT_EQ(s.message().body, "early");
      EXPECT_EQ(s.seen.output_ended, end_too);
      s.message().ended = false;
      s.codec->receive_end();
      EXPECT_TRUE(s.message().ended);
      EXPECT_EQ(s.seen.closed, end_too);
    }
  }
}

TEST(ServerTunnel, GivesCreditAsBytesAreUsedUp) {
  Server s;
  s.feed(kSocket);
  s.accept();
  const std::size_t before = s.seen.credit;
  s.feed(std::string(kInitialCredit, 'x'));
  EXPECT_EQ(s.seen.credit, before) << "nothing was used up yet";
  s.codec->grant(kFirst, kInitialCredit);
  EXPECT_EQ(s.seen.credit, before + kInitialCredit);
}

TEST(ServerTunnel, UPG_03_GoesOnWithHttpWhenTheNodeDeclines) {
  for (const std::uint16_t status : std::initializer_list<std::uint16_t>{200, 302, 400, 426}) {
    SCOPED_TRACE(status);
    Server s;
    s.feed(kSocket);
    send_answer(*s.codec, kFirst, status, "no");
    EXPECT_FALSE(s.seen.closed);
    EXPECT_EQ(s.seen.output.find("Connection"), std::string::npos);
    s.feed(kNext);
    ASSERT_EQ(s.seen.messages.size(), 2U);
    EXPECT_EQ(s.message(1).target, "/next");
    EXPECT_EQ(s.message(1).upgrade, "");
    Server pipelined;
    pipelined.feed(std::string(kSocket) + std::string(kNext));
    send_answer(*pipelined.codec, kFirst, status, "no");
    pipelined.codec->resume();
    EXPECT_EQ(pipelined.seen.messages.size(), 2U);
  }
}

TEST(ServerTunnel, ConnectOpensWithAnySuccessAndEndsTheConnectionOtherwise) {
  const std::string request = "CONNECT a.example:443 HTTP/1.1\r\nHost: other\r\n\r\n";
  Server s;
  s.feed(request + std::string(kNext));
  EXPECT_EQ(s.message().authority, "a.example:443");
  EXPECT_EQ(s.message().target, "");
  EXPECT_TRUE(
      s.message().head.starts_with("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443"));
  s.accept(200);
  s.codec->resume();
  EXPECT_EQ(s.seen.output, "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(s.message().body, kNext);
  Server refused;
  refused.feed(request + std::string(kNext));
  send_answer(*refused.codec, kFirst, 403, "no");
  EXPECT_NE(refused.seen.output.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(refused.seen.closed);
  EXPECT_EQ(refused.seen.messages.size(), 1U);
}

TEST(ServerTunnel, TakesConnectOnlyWhereItIsOfferedAndWellFormed) {
  struct Row {
    std::string_view name, request;
    bool offered;
    int status;
  };
  for (const Row& row :
       {Row{"not offered", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", false, 501},
        Row{"no port", "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", true, 400},
        Row{"empty port", "CONNECT a: HTTP/1.1\r\nHost: a\r\n\r\n", true, 400},
        Row{"IPv6 without port", "CONNECT [::1] HTTP/1.1\r\nHost: a\r\n\r\n", true, 400},
        Row{"a path", "CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n", true, 400},
        Row{"a body", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok", true, 400},
        Row{"fine", "CONNECT [::1]:1 HTTP/1.1\r\nHost: a\r\n\r\n", true, 0}}) {
    SCOPED_TRACE(row.name);
    Server s({.connect = row.offered});
    s.feed(row.request);
    EXPECT_EQ(s.seen.refused_status, row.status);
    EXPECT_EQ(s.seen.messages.size(), row.status == 0 ? 1U : 0U);
  }
}

TEST(ServerTunnel, IsNotOpenedForARequestThatDidNotAsk) {
  Server s;
  s.feed(kNext);
  s.accept();
  EXPECT_EQ(s.seen.output, "");
  EXPECT_EQ(s.seen.how, Close::kAbort);
  Server wrong;
  wrong.feed(kSocket);
  wrong.accept(200);
  EXPECT_EQ(wrong.seen.how, Close::kAbort);
}

TEST(ServerTunnel, ResetsWhenTheConnectionBreaks) {
  Server s;
  s.feed(kSocket);
  s.accept();
  s.codec->receive_failed();
  EXPECT_TRUE(s.message().reset);
  EXPECT_EQ(s.message().why, Why::kTruncated);
}

TEST(ServerTunnel, UPG_04_ShowsAnUpgradeOnlyWhenItIsMeant) {
  struct Row {
    std::string_view name, fields, upgrade, forwarded;
    std::string_view version = "1.1";
  };
  for (const Row& row : {
           Row{"no upgrade", "", "", ""},
           Row{"no Connection", "Upgrade: websocket\r\n", "", ""},
           Row{"Connection alone", "Connection: upgrade\r\n", "", ""},
           Row{"other tokens", "Connection: keep-alive, Upgrade\r\nUpgrade: example/1, foo/2\r\n",
               "example/1, foo/2", "Upgrade: example/1,foo/2\r\n"},
           Row{"h2c alone", "Connection: Upgrade\r\nUpgrade: h2c\r\n", "", ""},
           Row{"h2c among others", "Connection: Upgrade\r\nUpgrade: H2C, websocket\r\n",
               "H2C, websocket", "Upgrade: websocket\r\n"},
           Row{"a version too many", "Connection: Upgrade\r\nUpgrade: a/b/c\r\n", "", ""},
           Row{"no name", "Connection: Upgrade\r\nUpgrade: /1\r\n", "", ""},
           Row{"not a token", "Connection: Upgrade\r\nUpgrade: web socket\r\n", "", ""},
           Row{"two lines", "Connection: Upgrade\r\nUpgrade: a\r\nUpgrade: b\r\n", "", ""},
           Row{"with a body", "Connection: Upgrade\r\nUpgrade: a\r\nContent-Length: 1\r\n", "", ""},
           Row{"an empty body", "Connection: Upgrade\r\nUpgrade: a\r\nContent-Length: 0\r\n", "a",
               "Upgrade: a\r\n"},
           Row{"1.0", "Connection: Upgrade\r\nUpgrade: a\r\n", "", "", "1.0"},
       }) {
    SCOPED_TRACE(row.name);
    Server s;
    s.feed("GET / HTTP/" + std::string(row.version) + "\r\nHost: x\r\n" + std::string(row.fields) +
           "\r\n");
    EXPECT_EQ(s.message().upgrade, row.upgrade);
    const std::string& head = s.message().head;
    EXPECT_EQ(head.find("Connection"), std::string::npos) << "the codec's";
    const std::size_t at = head.find("Upgrade: ");
    EXPECT_EQ(at == std::string::npos ? "" : head.substr(at, head.find('\n', at) + 1 - at),
              row.forwarded);
  }
}

TEST(ClientTunnel, UPG_02_OpensWithoutConnectionInTheAnswer) {
  Client c;
  const StreamId id = c.ask("foo/2, WebSocket");
  EXPECT_TRUE(c.seen.output.ends_with("Upgrade: foo/2, WebSocket\r\nConnection: Upgrade\r\n\r\n"));
  c.seen.output.clear();
  c.feed("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nX-A: b\r\n\r\nraw ");
  EXPECT_EQ(c.message().kind, Body::kTunnel);
  EXPECT_EQ(c.message().upgrade, "websocket");
  EXPECT_EQ(c.message().head,
            "HTTP/1.1 101 Switching Protocols\r\nX-A: b\r\nUpgrade: websocket\r\n\r\n")
      << "repaired: the server codec adds Connection";
  EXPECT_TRUE(c.message().interim.empty());
  EXPECT_FALSE(c.message().clean);
  c.feed("HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(c.message().body, "raw HTTP/1.1 200 OK\r\n\r\n");
  c.codec->send_body(id, base::Buf::of_static("up"));
  EXPECT_EQ(c.seen.output, "up");
  EXPECT_FALSE(c.codec->can_open());
}

TEST(ClientTunnel, UPG_02_RefusesWhatWasNotAskedFor) {
  struct Row {
    std::string_view name, answer;
    bool asks = true;
  };
  for (const Row& row : {
           Row{"unasked", "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
               false},
           Row{"another", "HTTP/1.1 101 S\r\nUpgrade: foo\r\nConnection: Upgrade\r\n\r\n"},
           Row{"one of two", "HTTP/1.1 101 S\r\nUpgrade: websocket, foo\r\n\r\n"},
           Row{"none", "HTTP/1.1 101 S\r\nConnection: Upgrade\r\n\r\n"},
           Row{"empty", "HTTP/1.1 101 S\r\nUpgrade: ,\r\n\r\n"},
           Row{"two lines", "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nUpgrade: websocket\r\n\r\n"},
           Row{"with a body", "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\nx"},
       }) {
    SCOPED_TRACE(row.name);
    Client c;
    if (row.asks) {
      c.ask("websocket");
    } else {
      c.codec->send_head(c.codec->open(), OutHead{.bytes = base::Buf::of_static("GET / \r\n\r\n"),
                                                  .method = Method::kGet});
      c.codec->send_end(kFirst);
    }
    c.feed(row.answer);
    EXPECT_TRUE(c.message().reset);
    EXPECT_EQ(c.message().why, Why::kProtocol);
    EXPECT_EQ(c.message().told, 502);
    EXPECT_EQ(c.seen.how, Close::kAbort);
  }
}

TEST(ClientTunnel, UPG_03_ReadsAPlainAnswerAndKeepsTheConnection) {
  for (const std::string_view answer : {"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno",
                                        "HTTP/1.1 302 Found\r\nLocation: /\r\nTransfer-Encoding: "
                                        "chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n"}) {
    Client c;
    c.ask("websocket");
    c.feed(answer);
    EXPECT_TRUE(c.message().ended);
    EXPECT_EQ(c.message().body, "no");
    EXPECT_TRUE(c.codec->can_open());
    c.ask("websocket");
    c.feed("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n");
    EXPECT_EQ(c.message(1).kind, Body::kTunnel);
    EXPECT_EQ(c.message(1).interim, std::vector<std::uint16_t>{103});
  }
}

TEST(ClientTunnel, EndsEachWayByItself) {
  for (const bool node_first : {true, false}) {
    SCOPED_TRACE(node_first);
    Client c;
    const StreamId id = c.ask("a");
    c.feed("HTTP/1.1 101 S\r\nUpgrade: a\r\n\r\n");
    if (node_first) {
      c.codec->receive_end();
      EXPECT_TRUE(c.message().ended);
      EXPECT_FALSE(c.seen.closed);
      c.codec->send_body(id, base::Buf::of_static("still"));
      EXPECT_TRUE(c.seen.output.ends_with("still"));
      c.codec->send_end(id);
    } else {
      c.codec->send_end(id);
      EXPECT_TRUE(c.seen.output_ended);
      EXPECT_FALSE(c.seen.closed);
      c.feed("more");
      c.codec->receive_end();
      EXPECT_EQ(c.message().body, "more");
      EXPECT_TRUE(c.message().ended);
    }
    EXPECT_EQ(c.codec->streams(), 0U);
    EXPECT_TRUE(c.seen.closed);
    EXPECT_EQ(c.seen.how, Close::kLinger);
  }
}

TEST(ClientTunnel, ConnectIgnoresFramingOfASuccess) {
  Client c;
  c.connect();
  c.feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nraw");
  EXPECT_EQ(c.message().kind, Body::kTunnel);
  EXPECT_EQ(c.message().head, "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(c.message().body, "raw");
  Client refused;
  refused.connect();
  refused.feed("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_TRUE(refused.message().ended);
  EXPECT_EQ(refused.message().body, "no");
}

}  // namespace
}  // namespace steelyard::http::testing
