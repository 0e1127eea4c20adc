// The data plane over real sockets: what a client sends and a node answers comes through byte for
// byte.

#include <array>
#include <gtest/gtest.h>
#include <thread>

#include "steelyard/io/clock.h"

#include "test/integration/net.h"
#include "test/integration/proxy_rig.h"

namespace steelyard::integration {
namespace {

constexpr int kTimes = 1000;

struct OneNode : ::testing::Test {
  Node node{serve_http};
  ProxyRig rig{{}, {{"a", node.port()}}};
  Socket client = Socket::connect(rig.port());
};

TEST_F(OneNode, AGetIsAnsweredAndTheNodeSeesWhatAGatewayAdds) {
  std::optional<Message> seen;
  Node recorder([&](Node&, Socket& socket) {
    seen = socket.read(true);
    socket.send(
        "HTTP/1.1 200 OK\r\nConnection: X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\n"
        "X-Kept: yes\r\nContent-Length: 2\r\n\r\nok");
  });
  rig.wait_taken(rig.publish({{"r", recorder.port()}}));
  client.send(
      "GET /x?y=1 HTTP/1.1\r\nHost: api.example.com\r\nConnection: X-Own, keep-alive\r\nX-Own: "
      "1\r\n"
      "Proxy-Connection: x\r\nUpgrade: h2c\r\nX-Forwarded-For: 10.0.0.5\r\nAccept: */*\r\n\r\n");
  const auto answer = client.read(false);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status(), 200);
  EXPECT_EQ(answer->body, "ok");
  EXPECT_EQ(answer->field("x-kept"), "yes");
  EXPECT_EQ(answer->fields.count("x-secret") + answer->fields.count("keep-alive"), 0U);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->start, "GET /x?y=1 HTTP/1.1");
  EXPECT_EQ(seen->field("host"), "api.example.com");
  EXPECT_EQ(seen->field("x-forwarded-for"), "127.0.0.1");
  EXPECT_EQ(seen->field("x-forwarded-proto"), "http");
  EXPECT_EQ(seen->field("x-forwarded-host"), "api.example.com");
  EXPECT_EQ(seen->field("via"), "1.1 steelyard");
  EXPECT_EQ(seen->field("x-request-id").size(), 32U);
  EXPECT_EQ(seen->field("accept"), "*/*");
  for (const char* name : {"x-own", "connection", "proxy-connection", "upgrade"}) {
    EXPECT_EQ(seen->fields.count(name), 0U) << name;
  }
}

// The one before may have ended while it drained, with the kernel told to let nobody in.
TEST(ProxyListeners, SocketsOfSomebodyWhoDrainedLetClientsInAgain) {
  Node node{serve_http};
  ProxyRig rig({.muted = true}, {{"a", node.port()}});
  Socket client = Socket::connect(rig.port());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n"));
  const auto answer = client.read(false);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status(), 200);
}

TEST(ProxyListeners, AConnectionWhoseWakeUpWentToSomebodyElseIsFound) {
  Node node{serve_http};
  ProxyRig rig({.shared = true}, {{"a", node.port()}});
  for (int i = 0; i < 3; ++i) {
    Socket client = Socket::connect(rig.port());
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n"));
    const auto answer = client.read(false);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->status(), 200);
  }
}

TEST_F(OneNode, ChunkedUploadsComeThroughByteExact) {
  for (int i = 0; i < kTimes; ++i) {
    const std::string body =
        pattern(1 + static_cast<std::size_t>(i) % 300, static_cast<std::uint64_t>(i));
    std::string text =
        "POST /chunked HTTP/1.1\r\nHost: t\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += 9) {
      const std::string piece = body.substr(at, 9);
      text += std::to_string(piece.size()) + "\r\n" + piece + "\r\n";
    }
    ASSERT_TRUE(client.send(text + "0\r\n\r\n"));
    const auto answer = client.read(false);
    ASSERT_TRUE(answer.has_value()) << i;
    ASSERT_EQ(answer->status(), 200) << i;
    ASSERT_EQ(answer->body, body) << i;
    ASSERT_TRUE(answer->chunked);
  }
  EXPECT_EQ(node.requests, kTimes);
}

TEST_F(OneNode, HeadAnd204And304HaveNoBody) {
  for (int i = 0; i < kTimes; ++i) {
    ASSERT_TRUE(client.send("HEAD / HTTP/1.1\r\nHost: t\r\n\r\n"));
    const auto head = client.read(false, true);
    ASSERT_TRUE(head.has_value()) << i;
    ASSERT_EQ(head->field("content-length"), "5000");
    ASSERT_TRUE(client.send("GET /none/204 HTTP/1.1\r\nHost: t\r\n\r\n"));
    const auto none = client.read(false);
    ASSERT_TRUE(none.has_value()) << i;
    ASSERT_EQ(none->status(), 204);
    ASSERT_EQ(none->fields.count("content-length") + none->fields.count("transfer-encoding"), 0U);
    ASSERT_TRUE(client.send("GET /none/304 HTTP/1.1\r\nHost: t\r\n\r\n"));
    const auto same = client.read(false);
    ASSERT_TRUE(same.has_value()) << i;
    ASSERT_EQ(same->status(), 304);
    ASSERT_EQ(same->field("content-length"), "77");
  }
  EXPECT_EQ(node.requests, 3 * kTimes);
  EXPECT_EQ(node.connections, 1U);
}

TEST_F(OneNode, ContinueIsPassedOnBeforeTheBodyIsSent) {
  for (int i = 0; i < kTimes; ++i) {
    ASSERT_TRUE(client.send(
        "POST /continue HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"));
    const auto go = client.read(false);
    ASSERT_TRUE(go.has_value()) << i;
    ASSERT_EQ(go->status(), 100) << i;
    ASSERT_TRUE(client.send("hello"));
    const auto answer = client.read(false);
    ASSERT_TRUE(answer.has_value()) << i;
    ASSERT_EQ(answer->status(), 200) << i;
    ASSERT_EQ(answer->body, "hello") << i;
  }
}

TEST_F(OneNode, PipelinedPairsAreAnsweredInOrder) {
  for (int i = 0; i < kTimes; ++i) {
    const std::string first = pattern(40, static_cast<std::uint64_t>(i));
    ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 40\r\n\r\n" + first +
                            "GET /size/100 HTTP/1.1\r\nHost: t\r\n\r\n"));
    const auto one = client.read(false);
    const auto two = client.read(false);
    ASSERT_TRUE(one && two) << i;
    ASSERT_EQ(one->body, first) << i;
    ASSERT_EQ(two->body, pattern(100)) << i;
  }
}

TEST_F(OneNode, AMebibyteComesThroughBothWaysByteExact) {
  const std::string body = pattern(1 << 20, 3);
  for (int i = 0; i < kTimes; ++i) {
    // The node reads all before it answers, and the client sends all before it reads.
    ASSERT_TRUE(client.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1048576\r\n\r\n"));
    ASSERT_TRUE(client.send(body)) << i;
    const auto answer = client.read(false);
    ASSERT_TRUE(answer.has_value()) << i;
    ASSERT_EQ(answer->body.size(), body.size()) << i;
    ASSERT_TRUE(answer->body == body) << i;
  }
  EXPECT_EQ(node.connections, 1U);
}

// The client reads late: much is still in our kernel when the node breaks off.
TEST(Cases, RSP_05_ACutAnswerIsGivenAsFarAsItCameAndThenReset) {
  for (const std::size_t came : {std::size_t{300} << 10, std::size_t{12} << 20}) {
    SCOPED_TRACE(came);
    const std::string body = pattern(came, 5);
    Node node([&](Node&, Socket& socket) {
      if (!socket.read(true)) return;
      socket.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
      socket.send(body);
      socket.close();
    });
    ProxyRig rig({}, {{"a", node.port()}});
    Socket client = Socket::connect(rig.port());
    ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n"));
    if (came < (std::size_t{1} << 20)) {
      const auto cut = [](const auto& metrics) { return metrics.aborted.read(); };
      const auto limit = io::steady_now() + std::chrono::seconds(10);
      while (rig.sum(cut) == 0 && io::steady_now() < limit) std::this_thread::yield();
      ASSERT_EQ(rig.sum(cut), 1U);
    }
    EXPECT_FALSE(client.rest().has_value());  // broken, not ended
    const auto head = client.buffer.find("\r\n\r\n");
    ASSERT_NE(head, std::string::npos);
    EXPECT_TRUE(client.buffer.substr(head + 4) == body) << client.buffer.size();
  }
}

}  // namespace
}  // namespace steelyard::integration
