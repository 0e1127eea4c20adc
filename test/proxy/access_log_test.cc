// From an exchange's facts to lines in a file: what is told, what is dropped, where it goes.

#include "steelyard/proxy/access_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

#include "steelyard/io/clock.h"
#include "steelyard/io/file.h"

#include "test/proxy/logged.h"

namespace steelyard::proxy {
namespace {

using namespace std::chrono_literals;
using testing::Files;
using testing::Logged;
using testing::SimClient;
using testing::SimRig;
using testing::wait_for;

constexpr std::string_view kHead =
    "GET /a?token=SECRET HTTP/1.1\r\nHost: t\r\nUser-Agent: ua \"1\"\r\nReferer: http://r/\r\n"
    "Authorization: Bearer SECRET\r\nX-Request-Id: id7\r\n\r\n";

AccessFacts facts_of(std::string_view head = kHead) {
  AccessFacts facts;
  facts.began = base::TimePoint(10s);
  facts.ended = facts.began + 1500ms;
  facts.client = base::Address::v4({10, 0, 0, 7}, 4711);
  facts.listener = base::Address::loopback(80);
  facts.node = base::Address::loopback(9000);
  facts.head = head;
  facts.status = 200;
  facts.body_bytes_out = 12;
  facts.upstream = "api";
  facts.node_name = "node-a";
  facts.node_status = 200;
  facts.tries = 2;
  facts.pick_reason = "least busy";
  return facts;
}

std::string line_of(const AccessFacts& facts, std::string_view format) {
  const auto made = http::AccessFormat::compile(format);
  EXPECT_TRUE(made) << made.error().text;
  std::array<char, 4096> out;
  const auto at = std::chrono::sys_time<std::chrono::milliseconds>(1'800'000'000'250ms);
  return {out.data(), write_access_line(facts, at, *made, out)};
}

TEST(AccessFacts, ComeThroughTheRingAsTheyWere) {
  const AccessFacts facts = facts_of();
  std::vector<std::byte> packed(facts.packed_size());
  facts.pack(packed);
  const AccessFacts back = AccessFacts::unpack(packed);
  EXPECT_EQ(back.head, facts.head);
  EXPECT_EQ(back.upstream, "api");
  EXPECT_EQ(back.node_name, "node-a");
  EXPECT_EQ(back.pick_reason, "least busy");
  EXPECT_EQ(back.reason, "");
  EXPECT_EQ(back.client, facts.client);
  EXPECT_EQ(back.node_status, facts.node_status);
  EXPECT_EQ(back.connect_time, std::nullopt);
  EXPECT_EQ(back.ended - back.began, 1500ms);
}

TEST(AccessFacts, AHugeHeadIsCut) {
  const std::string head = "GET /" + std::string(100'000, 'x') + " HTTP/1.1\r\n\r\n";
  const AccessFacts facts = facts_of(head);
  EXPECT_LT(facts.packed_size(), 9000U);
}

TEST(AccessLine, SaysWhoAskedForWhatAndWhoAnswered) {
  const auto line = line_of(facts_of(), "combined");
  EXPECT_TRUE(line.starts_with("10.0.0.7 - - [15/Jan/2027:")) << line;
  EXPECT_NE(
      line.find("\"GET /a?token=[redacted] HTTP/1.1\" 200 12 \"http://r/\" \"ua \\x221\\x22\""),
      std::string::npos)
      << line;
}

TEST(AccessLine, NamesTheTraceThatNodesSee) {
  constexpr std::string_view kId = "0af7651916cd43dd8448eb211c80319c";
  const std::string head = "GET / HTTP/1.1\r\nHost: t\r\ntraceparent: 00-" + std::string(kId) +
                           "-b7ad6b7169203331-01\r\n\r\n";
  EXPECT_EQ(line_of(facts_of(head), "$trace_id"), std::string(kId) + "\n");
  EXPECT_NE(line_of(facts_of(head), "json").find("\"trace_id\":\"" + std::string(kId)),
            std::string::npos);
  EXPECT_EQ(line_of(facts_of("GET / HTTP/1.1\r\ntraceparent: 00-x-y-01\r\n\r\n"), "$trace_id"),
            "-\n");
}

// No credential in any format.
TEST(AccessLine, OBS_07_ShowsNoSecret) {
  for (const std::string_view format :
       {"combined", "json", "$request $http_authorization $request_uri"}) {
    const auto line = line_of(facts_of(), format);
    EXPECT_EQ(line.find("SECRET"), std::string::npos) << line;
    EXPECT_NE(line.find("/a"), std::string::npos) << line;
  }
}

TEST(AccessLine, WhatCouldNotBeReadIsADash) {
  AccessFacts facts;
  facts.client = base::Address::v4({10, 0, 0, 7}, 1);
  facts.status = 400;
  facts.reason = "bad field";
  const auto line = line_of(facts, "combined");
  EXPECT_NE(line.find("\"-\" 400 "), std::string::npos) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

std::size_t lines_in(const std::string& path) {
  const auto text = io::read_file(path, std::size_t{64} << 20);
  return text ? static_cast<std::size_t>(std::count(text->begin(), text->end(), '\n')) : 0;
}

// No file of this process may grow beyond so many bytes: a disk that is full.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    (void)::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    (void)::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { lift(); }
  void lift() {
    (void)::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(AccessLogs, AFullDiskTearsNoLineOfLaterAndCountsWhatWasWritten) {
  const Files files;
  AccessLog log(1);
  ASSERT_TRUE(log.configure({files.path, "combined", 1}));
  log.ring(0).note(facts_of());
  ASSERT_TRUE(wait_for([&] { return log.lines() == 1; }));
  const auto size = std::filesystem::file_size(files.path);
  EXPECT_FALSE(log.changed_health());
  {
    FileLimit limit(4 * size + size / 2);
    for (int i = 0; i < 10; ++i) log.ring(0).note(facts_of());
    ASSERT_TRUE(wait_for([&] { return log.lines() + log.lost() == 11; }));
    EXPECT_EQ(log.lines(), 4U) << "all that were written whole";
    auto health = log.changed_health();
    ASSERT_TRUE(health && health->failing);
    EXPECT_EQ(health->error, EFBIG);
    EXPECT_EQ(health->lost, 7U);
    log.ring(0).note(facts_of());
    ASSERT_TRUE(wait_for([&] { return log.lost() == 8; }));
    EXPECT_FALSE(log.changed_health()) << "told once";
  }
  log.ring(0).note(facts_of());
  ASSERT_TRUE(wait_for([&] { return log.lines() == 5; }));
  auto health = log.changed_health();
  ASSERT_TRUE(health && !health->failing);
  EXPECT_EQ(health->lost, 8U);
  EXPECT_FALSE(log.changed_health());
  const auto text = io::read_file(files.path).value();
  EXPECT_EQ(lines_in(files.path), 6U) << "the torn one among them:\n" << text;
  const auto last = text.rfind('\n', text.size() - 2) + 1;
  EXPECT_EQ(text.size() - last, size) << "the line behind a torn one is whole:\n" << text;
}

TEST(AccessLogs, EveryExchangeIsALineOrIsCountedAsDropped) {
  const Files files;
  constexpr std::uint32_t kWorkers = 3;
  constexpr std::uint64_t kEach = 20'000;
  std::uint64_t noted = 0;
  {
    AccessLog log(kWorkers, 64 << 10);
    ASSERT_TRUE(log.configure({files.path, "combined", 1}));
    std::vector<std::thread> threads;
    for (std::uint32_t w = 0; w < kWorkers; ++w) {
      threads.emplace_back([&, w] {
        for (std::uint64_t i = 0; i < kEach; ++i) log.ring(w).note(facts_of());
      });
    }
    for (auto& thread : threads) thread.join();
    for (std::uint32_t w = 0; w < kWorkers; ++w) noted += log.ring(w).noted();
    EXPECT_EQ(noted + log.dropped(), kWorkers * kEach);
    ASSERT_TRUE(wait_for([&] { return log.lines() == noted; }));
    EXPECT_EQ(log.lost(), 0U);
  }
  EXPECT_GT(noted, 0U);
  EXPECT_EQ(lines_in(files.path), noted);
  struct stat is{};
  ASSERT_EQ(::stat(files.path.c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777U, 0640U & ~0022U);
}

TEST(AccessLogs, AreWrittenToTheEndWhenTheyAreLetGo) {
  const Files files;
  {
    AccessLog log(1);
    ASSERT_TRUE(log.configure({files.path, "json", 1}));
    for (int i = 0; i < 100; ++i) log.ring(0).note(facts_of());
  }
  EXPECT_EQ(lines_in(files.path), 100U);
}

TEST(AccessLogs, AfterARotationLinesGoIntoANewFile) {
  const Files files;
  AccessLog log(1);
  ASSERT_TRUE(log.configure({files.path, "combined", 1}));
  log.ring(0).note(facts_of());
  ASSERT_TRUE(wait_for([&] { return log.lines() == 1; }));
  std::filesystem::rename(files.path, files.path + ".1");
  ASSERT_TRUE(log.reopen());
  ASSERT_TRUE(wait_for([&] { return std::filesystem::exists(files.path); }));
  // Whatever is noted now may still go into the old file; nothing is lost.
  ASSERT_TRUE(wait_for([&] {
    log.ring(0).note(facts_of());
    return lines_in(files.path) > 0;
  }));
  ASSERT_TRUE(wait_for([&] { return log.lines() == log.ring(0).noted(); }));
  EXPECT_EQ(lines_in(files.path) + lines_in(files.path + ".1"), log.lines());
}

TEST(AccessLogs, AFileThatCannotBeOpenedChangesNothing) {
  const Files files;
  AccessLog log(1);
  ASSERT_TRUE(log.configure({files.path, "combined", 1}));
  for (const LogOptions& bad :
       {LogOptions{files.scratch / "no/such/place", "combined", 1},
        LogOptions{"/dev/null", "combined", 1}, LogOptions{files.path, "$nonsense", 1}}) {
    const auto done = log.configure(bad);
    ASSERT_FALSE(done);
    EXPECT_FALSE(done.error().text.empty());
  }
  log.ring(0).note(facts_of());
  ASSERT_TRUE(wait_for([&] { return log.lines() == 1; }));
  EXPECT_EQ(lines_in(files.path), 1U);
}

TEST(AccessLogs, AnExchangeSaysWhoAnsweredItAndHow) {
  Logged logged("$status $request $body_bytes_sent");
  SimRig& rig = *logged.rig;
  rig.add_node();
  SimClient& client = rig.dial();
  client.send("GET /one HTTP/1.1\r\nHost: t\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.status() == 200; }));
  rig.nodes[0].script = [](testing::SimNode&, testing::Conn&) {};
  client.send("GET /two HTTP/1.1\r\nHost: t\r\n\r\n");
  rig.run(5ms);
  client.peer->reset();
  EXPECT_EQ(logged.lines(2), "200 GET /one HTTP/1.1 2\n499 GET /two HTTP/1.1 0\n");
}

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";

TEST(AccessLogs, OBS_05_WhoLeftIsToldApartFromWhatWasSent) {
  using testing::Conn;
  using testing::SimNode;
  constexpr std::string_view kHalf = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789";
  Logged logged("$status $reason $body_bytes_sent");
  SimRig& rig = *logged.rig;
  std::string_view text;
  bool cut = false;
  rig.add_node([&](SimNode&, Conn& conn) {
    std::string whole;
    if (conn.next_request(whole)) {
      conn.send(text);
      if (cut) conn.end();
    }
  });
  const auto leave = [&](std::string_view answer, std::string_view seen) {
    text = answer;
    SimClient& client = rig.dial();
    client.send(kGet);
    rig.run(5ms);
    EXPECT_TRUE(client.in.ends_with(seen)) << client.in;
    client.peer->reset();
    rig.run(5ms);
  };
  leave("", "");               // before an answer
  leave(kHalf, "0123456789");  // in the middle
  leave(testing::kOk, "ok");   // behind it
  cut = true;                  // … and here it is the node that leaves
  leave(kHalf, "0123456789");
  leave("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz", "\r\n\r\n");  // at once
  EXPECT_EQ(logged.lines(5),
            "499 client_gone 0\n200 client_gone 10\n200 - 2\n200 broken 10\n200 bad_answer 0\n");
}

TEST(AccessLogs, FieldsOfTheAnswerAreShownWhereTheFormatWantsThem) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Cache: hit\r\nSet-Cookie: SECRET\r\n"
      "Content-Type: text/css\r\n\r\n";
  for (const bool json : {false, true}) {
    Logged logged(json ? "json" : "$sent_http_x_cache $sent_http_none $sent_http_set_cookie");
    SimRig& rig = *logged.rig;
    rig.add_node([&](testing::SimNode&, testing::Conn& conn) {
      std::string whole;
      if (conn.next_request(whole)) conn.send(kAnswer);
    });
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.status() == 200; }));
    rig.listed[0] = false;
    rig.publish();
    client.send(kGet);  // one of our own
    const auto lines = logged.lines(2);
    if (!json) {
      EXPECT_EQ(lines, "hit - [redacted]\n- - -\n");
    } else {
      EXPECT_NE(lines.find("\"content_type\":\"text/css\""), std::string::npos) << lines;
      EXPECT_NE(lines.find("\"content_type\":\"text/plain\""), std::string::npos) << lines;
      EXPECT_NE(lines.find("\"pick_reason\":\"round_robin\""), std::string::npos) << lines;
    }
  }
}

TEST(AccessLogs, APickSaysWhatLedToIt) {
  {
    Logged logged("$node $tries $pick_reason", {.picker = "least_connections"});
    SimRig& rig = *logged.rig;
    rig.add_node().stop_listening();
    rig.add_node();
    rig.weights = {100, 1};
    rig.publish();
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.status() == 200; }));
    EXPECT_EQ(logged.lines(1), "b 2 least_connections+retry\n");
  }
  {
    Logged logged("$node $tries $pick_reason",
                  {.hedge = request::HedgeOptions{.after = 20ms}, .picker = "least_connections"});
    SimRig& rig = *logged.rig;
    rig.add_node([](testing::SimNode&, testing::Conn&) {});
    rig.add_node();
    rig.weights = {100, 1};
    rig.publish();
    SimClient& client = rig.dial();
    client.send(kGet);
    ASSERT_TRUE(rig.until([&] { return client.status() == 200; }));
    EXPECT_EQ(logged.lines(1), "b 2 least_connections+hedge\n");
  }
  {
    Logged logged("$node $tries $pick_reason",
                  {.rules = {.limits = {.max_in_flight = 1}, .queue = {.size = 2, .timeout = 5s}}});
    SimRig& rig = *logged.rig;
    rig.add_node([&](testing::SimNode& node, testing::Conn& conn) {
      if (rig.worker->metrics().queued.read() > 0) testing::answer_ok(node, conn);
    });
    for (int i = 0; i < 2; ++i) {
      rig.dial().send(kGet);
      rig.run(5ms);
    }
    EXPECT_EQ(logged.lines(2), "a 1 round_robin\na 1 round_robin+queue\n");
  }
}

TEST(AccessLogs, TheClientBehindATrustedProxyIsTheOneThatIsLogged) {
  SimRig::Setup setup;
  setup.listener.trusted = {"127.0.0.0/8"};
  Logged logged("$remote_addr $remote_port", std::move(setup));
  logged.rig->add_node();
  SimClient& client = logged.rig->dial();
  client.send(
      "GET / HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: 6.6.6.6, 2001:db8::7, 127.0.0.9\r\n\r\n");
  EXPECT_EQ(logged.lines(1), "2001:db8::7 -\n");
}

TEST(AccessLogs, ARequestThatIsRefusedIsALineToo) {
  Logged logged("$status $remote_addr");
  SimRig& rig = *logged.rig;
  rig.add_node();
  SimClient& client = rig.dial();
  client.send("GET / HTTP/9.9\r\n\r\n");
  ASSERT_TRUE(rig.until([&] { return client.status() > 0; }));
  EXPECT_EQ(logged.log.ring(0).noted(), 1U);
  EXPECT_EQ(logged.lines(1), std::to_string(client.status()) + " 127.0.0.1\n");
}

}  // namespace
}  // namespace steelyard::proxy
