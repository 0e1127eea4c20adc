#include "steelyard/wire/client.h"

#include <gtest/gtest.h>
#include <optional>

#include "steelyard/wire/server.h"

#include "test/wire/net.h"
#include "test/wire/raw_peer.h"

namespace steelyard::wire::testing {
namespace {

using std::chrono::milliseconds;

class ClientTest : public ::testing::TestWithParam<Backend> {
 protected:
  using Result = base::Result<Response>;
  std::optional<Result> ask(const base::Address& to, const Request& request = {},
                            const CallOptions& options = {}) {
    std::optional<Result> result;
    const Call call = client.send(to, request, options, [&](Result r) { result = std::move(r); });
    EXPECT_FALSE(result) << "never inside send";
    EXPECT_TRUE(net.run([&] { return result.has_value(); }));
    EXPECT_FALSE(call.pending());
    return result;
  }
  Net net{GetParam()};
  Client client{net.reactor()};
  base::Address at;
};

TEST_P(ClientTest, BringsTheWholeAnswer) {
  Request seen;
  Server server(net.reactor(), {}, [&](const Request& request, Reply reply) {
    seen = request;
    reply.send({201, {{"X-A", "b"}}, std::string(50000, 'x')});
  });
  server.listen(net.listen(at));
  const auto result = ask(at, {.method = "POST",
                               .target = "/p?q=1",
                               .host = "h.example",
                               .headers = {{"X-Q", "r"}},
                               .body = "hello"});
  ASSERT_TRUE(result && *result) << result->error().text;
  EXPECT_EQ((*result)->status, 201);
  EXPECT_EQ((*result)->body, std::string(50000, 'x'));
  EXPECT_EQ(*(*result)->header("x-a"), "b");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.path(), "/p");
  EXPECT_EQ(seen.query(), "q=1");
  EXPECT_EQ(seen.host, "h.example");
  EXPECT_EQ(*seen.header("x-q"), "r");
  EXPECT_EQ(seen.body, "hello");
  EXPECT_EQ(client.pending(), 0U);
  EXPECT_TRUE(net.run([&] { return server.connections() == 0; })) << "closed politely by both";
}

TEST_P(ClientTest, TellsWhyItFailed) {
  struct Row {
    std::string_view name, greeting;
    bool finish;
    base::Code code;
  };
  for (const Row& row :
       {Row{"closed at once", "", true, base::Code::kReset},
        Row{"not HTTP", "SSH-2.0-x\r\n", false, base::Code::kProtocol},
        Row{"cut in the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour", true,
            base::Code::kReset},
        Row{"announced too large", "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", false,
            base::Code::kLimit},
        Row{"too large", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n", false,
            base::Code::kTimeout},
        Row{"no end", "HTTP/1.1 200 OK\r\n\r\nx", false, base::Code::kTimeout}}) {
    SCOPED_TRACE(row.name);
    std::string greeting(row.greeting);
    if (row.name == "too large") greeting += std::string(101, 'x');
    RawServer server(net.reactor(), net.listen(at), greeting);
    server.finish = row.finish;
    const auto result = ask(at, {}, {.timeout = milliseconds(200), .max_body = 100});
    ASSERT_TRUE(result && !*result);
    EXPECT_EQ(result->error().code, row.name == "too large" ? base::Code::kLimit : row.code)
        << result->error().text;
    EXPECT_EQ(result->error().origin, base::Origin::kNode);
  }
  const auto refused = ask(net.nobody());
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().code, base::Code::kRefused);
}

TEST_P(ClientTest, KeepsItsDeadlineAgainstADrip) {
  RawServer server(net.reactor(), net.listen(at),
                   "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  std::optional<Result> result;
  const base::TimePoint start = net.reactor().now();
  const Call call =
      client.send(at, {}, {.timeout = milliseconds(300)}, [&](Result r) { result = std::move(r); });
  while (!result && net.reactor().now() < start + std::chrono::seconds(10)) {
    net.run_for(milliseconds(20));
    if (!server.peers.empty() && !server.peers[0]->failed) server.peers[0]->send("x");
  }
  ASSERT_TRUE(result && !*result);
  EXPECT_EQ(result->error().code, base::Code::kTimeout);
}

TEST_P(ClientTest, SaysNothingAfterACancelAndMayAskAgainInsideAnAnswer) {
  Server server(net.reactor(), {},
                [&](const Request&, Reply reply) { reply.send(Response::text(200, "ok")); });
  server.listen(net.listen(at));
  int answers = 0;
  Call cancelled = client.send(at, {}, {}, [&](Result) { ADD_FAILURE(); });
  EXPECT_TRUE(cancelled.pending());
  cancelled.cancel();
  EXPECT_FALSE(cancelled.pending());
  Call second;
  Call first = client.send(at, {}, {}, [&](const Result& r) {
    answers += r ? 1 : 0;
    first.cancel();  // its own handle
    second = client.send(at, {}, {}, [&](const Result& s) { answers += s ? 1 : 0; });
  });
  EXPECT_TRUE(net.run([&] { return answers == 2; }));
  EXPECT_EQ(client.pending(), 0U);
}

TEST_P(ClientTest, OpensAConnectionOnly) {
  RawServer server(net.reactor(), net.listen(at));
  std::optional<base::Result<void>> opened, refused;
  const Call one =
      client.open(at, milliseconds(500), [&](base::Result<void> r) { opened = std::move(r); });
  const Call two = client.open(net.nobody(), milliseconds(500),
                               [&](base::Result<void> r) { refused = std::move(r); });
  EXPECT_TRUE(net.run([&] { return opened && refused; }));
  EXPECT_TRUE(*opened);
  EXPECT_EQ(refused->error().code, base::Code::kRefused);
}

TEST_P(ClientTest, CancelsEverythingWhenItGoes) {
  RawServer server(net.reactor(), net.listen(at));
  {
    Client local(net.reactor());
    const Call call = local.send(at, {}, {}, [&](const Result&) { ADD_FAILURE(); });
    net.run_for(milliseconds(20));
  }
  net.run_for(milliseconds(20));
}

INSTANTIATE_TEST_SUITE_P(Both, ClientTest, ::testing::Values(Backend::kEpoll, Backend::kSim),
                         name_of);

TEST(QueryValue, IsDecodedAndFoundByItsName) {
  std::string out;
  EXPECT_TRUE(query_value("a=1&b=x+y%2Fz&b=2", "b", out));
  EXPECT_EQ(out, "x y/z");
  EXPECT_TRUE(query_value("flag", "flag", out));
  EXPECT_EQ(out, "");
  EXPECT_FALSE(query_value("a=1", "b", out));
  EXPECT_FALSE(query_value("a=%2", "a", out));
  EXPECT_FALSE(query_value("a=%zz", "a", out));
}

}  // namespace
}  // namespace steelyard::wire::testing
