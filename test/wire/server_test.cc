#include "steelyard/wire/server.h"

#include <gtest/gtest.h>
#include <optional>

#include "steelyard/wire/client.h"

#include "test/wire/net.h"
#include "test/wire/raw_peer.h"

namespace steelyard::wire::testing {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

class ServerTest : public ::testing::TestWithParam<Backend> {
 protected:
  void start(const ServerOptions& options = {}) {
    server = std::make_unique<Server>(
        net.reactor(), options, [this](const Request& request, Reply reply) {
          ++handled;
          if (request.path() == "/later") {
            kept.push_back(std::move(reply));
          } else if (request.path() == "/abort") {
            reply.abort();
          } else if (request.path() != "/forget") {
            reply.send(
                Response::text(200, request.method + " " + request.target + " " + request.body));
          }
        });
    server->listen(net.listen(at));
  }
  bool until(RawPeer& peer, std::string_view word, std::size_t times = 1) {
    return net.run([&] { return count(peer.got, word) >= times; });
  }
  Net net{GetParam()};
  base::Address at;
  std::unique_ptr<Server> server;
  std::vector<Reply> kept;
  int handled = 0;
};

TEST_P(ServerTest, AnswersPipelinedRequestsOfOneConnectionInOrder) {
  start();
  RawPeer peer(net.reactor(), at);
  peer.send(
      "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /later HTTP/1.1\r\nHost: "
      "x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(until(peer, "POST /1 abc"));
  EXPECT_TRUE(net.run([&] { return kept.size() == 1; }));
  EXPECT_EQ(handled, 2) << "the third waits for the second";
  EXPECT_TRUE(kept[0].alive());
  kept[0].send(Response::text(200, "late"));
  EXPECT_TRUE(until(peer, "GET /3 "));
  EXPECT_LT(peer.got.find("late"), peer.got.find("GET /3 "));
  EXPECT_FALSE(peer.ended);
}

TEST_P(ServerTest, AnswersForAHandlerThatForgets) {
  start();
  RawPeer peer(net.reactor(), at);
  peer.send("GET /forget HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(until(peer, "HTTP/1.1 500 "));
}

TEST_P(ServerTest, LeavesTheBodyOutOfAnAnswerToHead) {
  start();
  RawPeer peer(net.reactor(), at);
  peer.send("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(net.run([&] { return peer.ended; }));
  EXPECT_EQ(peer.got.substr(peer.got.find("\r\n\r\n")), "\r\n\r\n");
  EXPECT_NE(peer.got.find("Content-Length: 8\r\n"), std::string::npos);
}

TEST_P(ServerTest, BreaksAConnectionWhenTold) {
  start();
  RawPeer peer(net.reactor(), at);
  peer.send("GET /abort HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(net.run([&] { return peer.failed; }));
  EXPECT_EQ(peer.got, "");
}

TEST_P(ServerTest, RefusesWhatIsTooLargeWrongOrTooSlow) {
  struct Row {
    std::string_view name, bytes, status;
  };
  start({.head_timeout = milliseconds(200), .max_body = 10});
  for (const Row& row :
       {Row{"large", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n", "413"},
        Row{"wrong", "GET / HTTP/1.1\r\n\r\n", "400"}, Row{"slow", "GET / HT", "408"}}) {
    SCOPED_TRACE(row.name);
    RawPeer peer(net.reactor(), at);
    peer.send(row.bytes);
    EXPECT_TRUE(net.run([&] { return peer.ended || peer.failed; }));
    EXPECT_EQ(peer.got.substr(9, 3), row.status);
  }
  RawPeer slow_body(net.reactor(), at);
  slow_body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nfour");
  EXPECT_TRUE(net.run([&] { return slow_body.ended || slow_body.failed; }));
  EXPECT_EQ(handled, 0);
}

TEST_P(ServerTest, SendsAClientOnThatWaitsForContinue) {
  start();
  RawPeer peer(net.reactor(), at);
  peer.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_TRUE(until(peer, "HTTP/1.1 100 Continue\r\n\r\n"));
  peer.send("body");
  EXPECT_TRUE(until(peer, "POST / body"));
}

TEST_P(ServerTest, ClosesIdleConnections) {
  start({.idle_timeout = milliseconds(100)});
  RawPeer used(net.reactor(), at), silent(net.reactor(), at);
  used.send(kGet);
  EXPECT_TRUE(net.run([&] { return used.ended && silent.ended; }));
  EXPECT_EQ(silent.got, "");
  EXPECT_EQ(count(used.got, "200 OK"), 1U);
}

TEST_P(ServerTest, HoldsNoMoreConnectionsThanItsCap) {
  start({.max_connections = 2});
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 4; ++i) peers.push_back(std::make_unique<RawPeer>(net.reactor(), at));
  for (const auto& peer : peers) peer->send(kGet);
  net.run_for(milliseconds(100));
  EXPECT_EQ(server->connections(), 2U);
  EXPECT_EQ(handled, 2);
  peers.erase(
      std::remove_if(peers.begin(), peers.end(), [](const auto& p) { return !p->got.empty(); }),
      peers.end());
  EXPECT_TRUE(net.run([&] { return handled == 4; })) << "the others were waiting";
}

TEST_P(ServerTest, SilentConnectionsGiveWayAtTheCap) {
  start({.max_connections = 2});
  RawPeer first(net.reactor(), at), second(net.reactor(), at);
  EXPECT_TRUE(net.run([&] { return server->connections() == 2; }));
  RawPeer third(net.reactor(), at);
  third.send(kGet);
  EXPECT_TRUE(until(third, "200 OK"));
  EXPECT_LE(server->connections(), 2U);
}

TEST_P(ServerTest, DrainsWithoutBreakingAnAnswer) {
  start();
  RawPeer busy(net.reactor(), at), idle(net.reactor(), at);
  busy.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.send(kGet);
  EXPECT_TRUE(net.run([&] { return kept.size() == 1 && count(idle.got, "200 OK") == 1; }));
  bool stopped = false;
  server->drain([&] { stopped = true; });
  EXPECT_TRUE(net.run([&] { return idle.ended; }));
  EXPECT_FALSE(stopped);
  kept[0].send(Response::text(200, "late"));
  EXPECT_TRUE(until(busy, "late"));
  idle.stream->end_write();
  busy.stream->end_write();
  EXPECT_TRUE(net.run([&] { return stopped; }));
  EXPECT_EQ(server->connections(), 0U);
}

TEST_P(ServerTest, OutlivesNeitherClientNorReplyWrongly) {
  start();
  {
    RawPeer peer(net.reactor(), at);
    peer.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(net.run([&] { return kept.size() == 1; }));
  }
  EXPECT_TRUE(net.run([&] { return !kept[0].alive(); })) << "the client broke off";
  kept[0].send(Response::text(200, "nobody"));
  RawPeer other(net.reactor(), at);
  other.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(net.run([&] { return kept.size() == 2; }));
  server.reset();
  EXPECT_FALSE(kept[1].alive());
  kept[1].send(Response::text(200, "too late"));
  EXPECT_TRUE(net.run([&] { return other.failed || other.ended; }));
}

INSTANTIATE_TEST_SUITE_P(Both, ServerTest, ::testing::Values(Backend::kEpoll, Backend::kSim),
                         name_of);

}  // namespace
}  // namespace steelyard::wire::testing
