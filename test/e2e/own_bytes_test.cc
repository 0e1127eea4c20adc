// Every way of framing a message, a thousand times each, byte for byte through the real binary.
#include <gtest/gtest.h>
#include <thread>

#include "test/e2e/own_support.h"
#include "test/integration/net.h"

namespace steelyard::e2e {
namespace {

using integration::Node;
using integration::pattern;
using integration::serve_http;
using integration::Socket;

constexpr int kEach = 1000;
constexpr int kClients = 4;

// One exchange on a kept connection; what went wrong, or nothing.
using Exchange = std::function<std::string(Socket& socket, int i)>;

class OwnBytes : public ::testing::Test {
 protected:
  // `each` exchanges, spread over keep-alive clients that run at the same time.
  void repeat(int each, const Exchange& exchange) {
    ASSERT_TRUE(balancer_.up()) << balancer_.log();
    std::vector<std::string> wrong(kClients);
    std::vector<std::thread> clients;
    for (int c = 0; c < kClients; ++c) {
      clients.emplace_back([&, c] {
        Socket socket = Socket::connect(balancer_.port());
        for (int i = c; i < each && wrong[static_cast<std::size_t>(c)].empty(); i += kClients) {
          if (const auto text = exchange(socket, i); !text.empty()) {
            wrong[static_cast<std::size_t>(c)] = "exchange " + std::to_string(i) + ": " + text;
          }
        }
      });
    }
    for (auto& client : clients) client.join();
    for (const auto& text : wrong) EXPECT_EQ(text, "");
    EXPECT_EQ(node_.requests, static_cast<std::uint64_t>(each) * requests_each_);
    EXPECT_EQ(balancer_.metric("steelyard_proxy_client_connections_accepted_total"), kClients)
        << "every client kept its connection";
  }
  // The next answer, checked; what is wrong with it, or nothing.
  static std::string wants(Socket& socket, int status, const std::string& body,
                           bool head_only = false) {
    const auto answer = socket.read(false, head_only);
    if (!answer) return "no answer";
    if (answer->status() != status) return answer->start + " " + answer->body;
    if (answer->body != body) {
      return "another body of " + std::to_string(answer->body.size()) + " bytes";
    }
    return socket.buffer.empty() ? "" : "bytes behind the answer: " + socket.buffer;
  }
  static std::string chunked(const std::string& body, std::size_t piece) {
    std::string out;
    char size[16];
    for (std::size_t at = 0; at < body.size(); at += piece) {
      const auto part = body.substr(at, piece);
      std::snprintf(size, sizeof size, "%zx\r\n", part.size());
      out += size + part + "\r\n";
    }
    return out + "0\r\n\r\n";
  }

  Node node_{serve_http};
  Balancer balancer_{config({{"a", node_.port()}}, "", "workers: 2\n")};
  std::uint64_t requests_each_ = 1;
};

TEST_F(OwnBytes, ChunkedUploads) {
  repeat(kEach, [](Socket& socket, int i) {
    const std::string body =
        pattern(1 + static_cast<std::size_t>(i) * 7, static_cast<std::uint64_t>(i));
    (void)socket.send("POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n" +
                      chunked(body, 1 + static_cast<std::size_t>(i) % 900));
    return wants(socket, 200, body);
  });
}

TEST_F(OwnBytes, ChunkedAnswersWithTrailers) {
  repeat(kEach, [](Socket& socket, int i) -> std::string {
    const std::string body = pattern(static_cast<std::size_t>(i % 300), 3);
    (void)socket.send("POST /chunked HTTP/1.1\r\nHost: t\r\nTE: trailers\r\nContent-Length: " +
                      std::to_string(body.size()) + "\r\n\r\n" + body);
    const auto answer = socket.read(false);
    if (!answer || answer->status() != 200) return "no answer";
    if (answer->body != body) return "another body";
    const auto sum = answer->trailers.find("x-sum");
    if (sum == answer->trailers.end()) return "no trailer";
    return sum->second == std::to_string(body.size()) ? "" : "another trailer";
  });
}

TEST_F(OwnBytes, Heads) {
  repeat(kEach, [](Socket& socket, int) -> std::string {
    (void)socket.send("HEAD /x HTTP/1.1\r\nHost: t\r\n\r\n");
    const auto answer = socket.read(false, /*head_only=*/true);
    if (!answer || answer->status() != 200) return "no answer";
    if (answer->field("content-length") != "5000") return "another length";
    return socket.buffer.empty() ? "" : "a body";
  });
}

TEST_F(OwnBytes, AnswersWithoutABody) {
  requests_each_ = 2;
  repeat(kEach, [](Socket& socket, int) -> std::string {
    (void)socket.send("GET /none/204 HTTP/1.1\r\nHost: t\r\n\r\n");
    if (auto wrong = wants(socket, 204, ""); !wrong.empty()) return "204: " + wrong;
    (void)socket.send("GET /none/304 HTTP/1.1\r\nHost: t\r\nIf-None-Match: \"x\"\r\n\r\n");
    const auto answer = socket.read(false);
    if (!answer || answer->status() != 304) return "304: no answer";
    if (answer->field("etag") != "\"x\"") return "304: no ETag";
    return socket.buffer.empty() ? "" : "304: a body";
  });
}

TEST_F(OwnBytes, UploadsThatAwait100Continue) {
  repeat(kEach, [](Socket& socket, int i) -> std::string {
    const std::string body =
        pattern(1 + static_cast<std::size_t>(i), static_cast<std::uint64_t>(i));
    (void)socket.send(
        "POST /continue HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n");
    const auto interim = socket.read(false);
    if (!interim || interim->status() != 100) return "no 100";
    (void)socket.send(body);
    return wants(socket, 200, body);
  });
}

TEST_F(OwnBytes, PipelinedPairs) {
  requests_each_ = 2;
  repeat(kEach, [](Socket& socket, int i) -> std::string {
    const std::string body =
        pattern(1 + static_cast<std::size_t>(i) % 500, static_cast<std::uint64_t>(i));
    (void)socket.send(
        "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body + "GET /size/33 HTTP/1.1\r\nHost: t\r\n\r\n");
    const auto first = socket.read(false);
    if (!first || first->body != body) return "the first is wrong";
    return wants(socket, 200, pattern(33));
  });
}

TEST_F(OwnBytes, AMebibyteUpAndDown) {
  requests_each_ = 2;
  const std::string body = pattern(std::size_t{1} << 20U, 9);
  const std::string answer = pattern(std::size_t{1} << 20U);
  repeat(100, [&](Socket& socket, int i) -> std::string {
    const std::string head = "POST /echo HTTP/1.1\r\nHost: t\r\n";
    (void)socket.send(i % 2 == 0
                          ? head + "Content-Length: 1048576\r\n\r\n" + body
                          : head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 30'000));
    if (auto wrong = wants(socket, 200, body); !wrong.empty()) return "up: " + wrong;
    (void)socket.send("GET /size/1048576 HTTP/1.1\r\nHost: t\r\n\r\n");
    return wants(socket, 200, answer);
  });
}

}  // namespace
}  // namespace steelyard::e2e
