// Access log: requests that are refused or broken off, each one line that says what the client got,
// why, and what it had asked for as far as that was understood.

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <string>

#include "test/proxy/logged.h"

namespace steelyard::proxy {
namespace {

using namespace std::chrono_literals;
using testing::Conn;
using testing::Logged;
using testing::SimClient;
using testing::SimNode;
using testing::SimRig;

std::uint64_t refusals(const SimRig& rig, std::uint16_t status) {
  const auto& metrics = rig.worker->metrics();
  for (std::size_t i = 1; i < metrics.refusals.size(); ++i) {
    if (WorkerMetrics::kRefusals[i] == status) return metrics.refusals[i].read();
  }
  return metrics.refusals[0].read();
}

TEST(AccessRefused, AHeadThatDoesNotComeInTimeIsCountedAndLogged) {
  SimRig::Setup setup;
  setup.options.clients.head_timeout = 1s;
  Logged logged("$status $reason \"$request\" $request_length $request_time", std::move(setup));
  SimRig& rig = *logged.rig;
  rig.add_node();
  rig.dial();  // nothing comes: closed without a word
  SimClient& client = rig.dial();
  client.send("GET / HT");
  rig.run(990ms);
  EXPECT_EQ(refusals(rig, 408), 0U);
  rig.run(30ms);
  EXPECT_EQ(client.status(), 408);
  EXPECT_EQ(refusals(rig, 408), 1U);
  EXPECT_EQ(rig.worker->metrics().answers[4].read(), 1U);
  EXPECT_EQ(rig.worker->metrics().idle_closed.read(), 1U);
  EXPECT_EQ(logged.lines(1), "408 client_timeout \"GET /\" 8 0.999\n");
}

TEST(AccessRefused, ARequestIsShownAsFarAsItWasUnderstood) {
  struct Row {
    std::string request;
    std::string_view line;
  };
  const std::array rows{
      Row{"POST /up?token=SECRET HTTP/1.1\r\nHost: t\r\nContent-Length: 999999999\r\n\r\n",
          "413 body_too_large t \"POST /up?token=[redacted] HTTP/1.1\"\n"},
      Row{"GET /a HTTP/1.1\r\nHost: t\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n",
          "431 head_too_large t \"GET /a HTTP/1.1\"\n"},
      Row{"GET /a HTTP/1.1\r\nX: y\r\n\r\n", "400 bad_request - \"GET /a HTTP/1.1\"\n"},
      Row{"GET /a HTTP/1.1\r\nHost: t\r\nBad Name: \"\r\n\r\n",
          "400 bad_request t \"GET /a HTTP/1.1\"\n"},
      Row{"GET /a HTTP/9.9\r\nHost: t\r\n\r\n", "505 bad_request t \"GET /a HTTP/9.9\"\n"},
      Row{"TRACE /a HTTP/1.1\r\nHost: t\r\n\r\n", "405 not_offered t \"TRACE /a HTTP/1.1\"\n"},
      Row{"GET /\"\x01 HTTP/1.1\r\nHost: t\r\n\r\n",
          "400 bad_request t \"GET /\\x22\\x01 HTTP/1.1\"\n"},
      Row{"\x16\x03\x01 SECRET x\r\n\r\n", "400 bad_request - \"-\"\n"},
      Row{"\x16", "400 bad_request - \"-\"\n"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.request.substr(0, 60));
    Logged logged("$status $reason $host \"$request\"");
    SimRig& rig = *logged.rig;
    rig.add_node();
    SimClient& client = rig.dial();
    client.send(row.request);
    ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
    EXPECT_EQ(logged.lines(1), row.line);
    EXPECT_EQ(rig.worker->metrics().refusals[0].read(), 0U) << "none is told as another status";
  }
}

TEST(AccessRefused, WhatIsNoRequestIsRefusedAtItsFirstByte) {
  for (const auto& [sent, detail] :
       {std::pair<std::string, std::string>("\x16\x03\x01", "TLS where plain HTTP is expected"),
        {"\x01", "not a method"},
        {"\r\n(", "not a method"}}) {
    Logged logged("$status $detail");
    logged.rig->add_node();
    SimClient& client = logged.rig->dial();
    client.send(sent);
    logged.rig->run(50ms);
    EXPECT_EQ(client.status(), 400);
    EXPECT_EQ(logged.lines(1), "400 " + detail + "\n");
  }
}

TEST(AccessRefused, ALineAboveItsLimitIsShownInPart) {
  Logged logged("$status $reason $request_method $request_uri $server_protocol");
  SimRig& rig = *logged.rig;
  rig.add_node();
  SimClient& client = rig.dial();
  client.send("GET /" + std::string(10'000, 'x') + " HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
  const auto line = logged.lines(1);
  EXPECT_TRUE(line.starts_with("414 line_too_long GET /xxxx")) << line.substr(0, 60);
  EXPECT_TRUE(line.ends_with("xxx -\n"));
  EXPECT_GT(line.size(), 8000U);
}

// The request was one already: what the codec answered is what the log says.
TEST(AccessRefused, ABadBodyIsLoggedAsWhatTheClientGot) {
  struct Row {
    std::string_view body;
    int status;
    std::string_view line;
  };
  constexpr std::array rows{
      Row{"fffffff\r\n", 413, "413 body_too_large POST body too large\n"},
      Row{"2\r\nokX", 400, "400 bad_request POST no CRLF after a chunk\n"},
      Row{"zz\r\n", 400, "400 bad_request POST bad chunk size\n"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.body);
    Logged logged("$status $reason $request_method $detail");
    SimRig& rig = *logged.rig;
    rig.add_node([](SimNode&, Conn&) {});
    SimClient& client = rig.dial();
    client.send("POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
    rig.run(5ms);
    client.send(row.body);
    ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
    EXPECT_EQ(client.status(), row.status);
    EXPECT_EQ(logged.lines(1), row.line);
    EXPECT_EQ(refusals(rig, static_cast<std::uint16_t>(row.status)), 1U);
  }
}

TEST(AccessRefused, WhomWeBreakOffHasNotLeft) {
  Logged logged("$status $reason");
  SimRig& rig = *logged.rig;
  rig.add_node([](SimNode&, Conn& conn) {
    std::string whole;
    if (!conn.next_request(whole)) return;
    conn.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + std::string(1'000'000, 'x'));
  });
  SimClient& client = rig.dial();
  client.reads = false;
  client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.peer->was_reset(); }));
  EXPECT_EQ(logged.lines(1), "200 client_timeout\n");
}

TEST(AccessRefused, APartOfAHeadThatOverloadBreaksOffIsCounted) {
  SimRig::Setup setup;
  setup.options.overload.memory = base::Bytes{100'000};
  Logged logged("$status $reason", std::move(setup));
  SimRig& rig = *logged.rig;
  rig.add_node();
  for (int i = 0; i < 40; ++i) {
    rig.dial().send("GET / HTTP/1.1\r\nX: " + std::string(10'000, 'x'));
    rig.run(5ms);
  }
  const auto& metrics = rig.worker->metrics();
  ASSERT_TRUE(rig.until([&] { return metrics.overload_shed.read() > 0; }));
  rig.run(5ms);
  std::uint64_t counted = 0;
  for (const auto& answers : metrics.answers) counted += answers.read();
  EXPECT_GT(metrics.answers[0].read(), 0U);
  EXPECT_EQ(counted, logged.log.ring(0).noted());
}

// --- times

TEST(AccessTimes, BeginWithTheFirstByteOfARequest) {
  Logged logged("$uri $request_time");
  SimRig& rig = *logged.rig;
  rig.add_node();
  SimClient& client = rig.dial();
  rig.run(300ms);  // silence before the first byte is nobody's
  client.send("GET /a HTTP/1.1\r\nHo");
  rig.run(700ms);
  client.send("st: t\r\n\r\n");
  rig.run(400ms);
  client.send("GET /b HTTP/1.1\r\nHost: t\r\n\r\nGET /c HTTP/1.1\r\nHost: t\r\n\r\n");
  const auto lines = logged.lines(3);
  EXPECT_TRUE(lines.starts_with("/a 0.70")) << lines;
  EXPECT_NE(lines.find("/b 0.00"), std::string::npos) << lines;
  EXPECT_NE(lines.find("/c 0.00"), std::string::npos) << lines;
}

// --- sizes

TEST(AccessSizes, OfARefusedRequestAreItsOwn) {
  Logged logged("$status $request_length");
  logged.rig->add_node();
  logged.rig->dial().send("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(logged.lines(1), "400 18\n");
}

TEST(AccessSizes, AreOfWhatTheClientSentAndGot) {
  constexpr std::string_view kFormat = "$request_length $bytes_sent $body_bytes_sent";
  struct Row {
    std::string_view name, request, answer;
  };
  constexpr std::array rows{
      Row{"length", "GET / HTTP/1.1\r\nHost: t\r\nA:   b\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
      Row{"chunked", "GET / HTTP/1.1\r\nHost: t\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
      Row{"until close", "GET / HTTP/1.0\r\nHost: t\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nok"},
      Row{"head", "HEAD / HTTP/1.1\r\nHost: t\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"},
      Row{"body", "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello",
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
      Row{"chunks",
          "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
          "0\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"},
      Row{"refused", "GET / HTTP/1.1\r\n\r\n", ""},
      Row{"not routed", "GET / HTTP/1.1\r\nHost: t\r\n\r\n", "none"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Logged logged(kFormat);
    SimRig& rig = *logged.rig;
    rig.add_node([&](SimNode&, Conn& conn) {
      std::string whole;
      if (!conn.next_request(whole)) return;
      conn.send(row.answer);
      if (row.name == "until close") conn.end();
    });
    if (row.answer == "none") {
      rig.listed[0] = false;
      rig.publish();
    }
    SimClient& client = rig.dial();
    std::string want;
    for (int i = 0; i < 2 && !client.closed(); ++i) {  // kept alive: each counts its own
      client.in.clear();
      client.send(row.request);
      rig.run(20ms);
      const auto end = client.in.find("\r\n\r\n");
      ASSERT_NE(end, std::string::npos);
      want += std::to_string(row.request.size()) + " " + std::to_string(client.in.size()) + " " +
              std::to_string(client.in.size() - end - 4) + "\n";
    }
    EXPECT_EQ(logged.lines(static_cast<std::uint64_t>(std::count(want.begin(), want.end(), '\n'))),
              want);
  }
}

}  // namespace
}  // namespace steelyard::proxy
