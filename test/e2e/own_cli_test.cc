// The first five minutes: the commands of the README with the real program.
#include <algorithm>
#include <gtest/gtest.h>
#include <signal.h>

#include "test/e2e/own_support.h"
#include "test/paths.h"

namespace steelyard::e2e {
namespace {

using std::chrono::seconds;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

// The text between the first line ```KIND and the next ```.
std::string block(const std::string& text, const std::string& kind) {
  const std::string mark = "```" + kind + "\n";
  const auto from = text.find(mark) + mark.size();
  return text.substr(from, text.find("```", from) - from);
}

std::string local(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

TEST(FirstMinutes, TheSixLinesOfTheReadmeAreAWorkingBalancer) {
  NodeProcess a("a");
  NodeProcess b("b");
  std::string text = block(read_text(test::source_path("README.md")), "yaml");
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  text.resize(text.rfind("    sense:"));  // the six lines before the one that lets it sense
  text = replaced(text, "127.0.0.1:8080", local(0));
  text = replaced(text, "127.0.0.1:8081", local(a.port()));
  text = replaced(text, "127.0.0.1:8082", local(b.port()));
  Balancer balancer(text, {"--admin", local(0)});
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const auto hits = spread(balancer.port(), 20, 2);
  EXPECT_EQ(hits.size(), 2U);
  EXPECT_EQ(hits.at("a\n") + hits.at("b\n"), 20);
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0);
}

TEST(FirstMinutes, ItRunsWithoutAFile) {
  NodeProcess a("a");
  NodeProcess b("b");
  const TempDir dir;
  const auto port = free_port();
  const auto admin = free_port();
  Process process({test::binary(), "run", "--listen", ":" + std::to_string(port), "--to",
                   local(a.port()) + "," + local(b.port()), "--admin", local(admin)},
                  dir / "log");
  ASSERT_TRUE(wait_until([&] { return Client(admin).get("/readyz").status == 200; }, seconds(10)))
      << read_text(dir / "log");
  EXPECT_EQ(spread(port, 20, 2).size(), 2U);
  for (const std::string path : {"/api/v1/upstreams", "/api/v1/decisions", "/metrics"}) {
    EXPECT_EQ(Client(admin).get(path).status, 200) << path;
  }
  process.signal(SIGHUP);
  EXPECT_TRUE(wait_until(
      [&] { return read_text(dir / "log").find(" reloaded ") != std::string::npos; }, seconds(5)))
      << "there is nothing to read again, and that is no error";
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(seconds(10)), 0);
}

TEST(FirstMinutes, APortInUseIsNamed) {
  const Backend taken("taken");
  const TempDir dir;
  EXPECT_EQ(run({test::binary(), "run", "--listen", local(taken.port()), "--to", local(1),
                 "--admin", local(0)},
                dir / "out"),
            1);
  EXPECT_NE(read_text(dir / "out").find(local(taken.port())), std::string::npos)
      << read_text(dir / "out");
}

TEST(FirstMinutes, AMadeKeyIsTakenByTheApi) {
  const TempDir dir;
  ASSERT_EQ(
      run({"/bin/sh", "-c",
           test::binary() + " key new --name alice > " + (dir / "key") + " 2> " + (dir / "how")},
          dir / "out"),
      0);
  std::string key = read_text(dir / "key");
  ASSERT_FALSE(key.empty());
  key.pop_back();  // the newline
  const std::string how = read_text(dir / "how");
  const auto entry = how.substr(how.find("- {"));
  EXPECT_EQ(how.find(key), std::string::npos);
  const Backend a("a");
  std::string text = config({{"a", a.port()}});
  text = text.substr(0, text.find("admin:")) + "admin:\n  address: " + local(0) + "\n  keys:\n  " +
         entry;
  Balancer balancer(text);
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const std::string body = R"({"node": "a", "weight": 2})";
  const auto answer =
      Client(balancer.admin_port())
          .send(
              "POST /api/adjust-weight HTTP/1.1\r\nHost: localhost\r\n"
              "Content-Type: application/json\r\nX-API-Key: " +
              key + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(balancer.node("a").override_by, "alice");
}

TEST(FirstMinutes, ADemoNodeFallsIllOnDemand) {
  NodeProcess node("sick", {"--service", "1ms", "--cores", "2"});
  Client client(node.port());
  EXPECT_EQ(client.get("/").body, "sick\n");
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_NE(client.get("/health/score").body.find("\"score\":100"), std::string::npos);

  EXPECT_EQ(node.control(R"({"error_rate": 1})").status, 200);
  EXPECT_EQ(client.get("/").status, 500);
  EXPECT_EQ(node.control(R"({"reset": true, "ready": false, "score": 17})").status, 200);
  EXPECT_EQ(client.get("/").status, 200);
  EXPECT_EQ(client.get("/health").status, 503);
  EXPECT_NE(client.get("/health/score").body.find("\"score\":17"), std::string::npos);
  EXPECT_EQ(node.control(R"({"reset": true, "hang": true})").status, 200);
  EXPECT_EQ(Client(node.port(), std::chrono::milliseconds(200)).get("/").status, 0);
  EXPECT_EQ(node.control(R"({"reset": true, "pause": "300ms", "pause_every": "301ms"})").status,
            200);
  const auto from = std::chrono::steady_clock::now();
  EXPECT_EQ(client.get("/").status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - from, std::chrono::milliseconds(100));
  EXPECT_EQ(node.control(R"({"reset": true})").status, 200);
  for (const std::string wrong : {"", "[]", R"({"pauze": "1s"})", R"({"pause": 5})",
                                  R"({"error_rate": 2})", R"({"cores": 0})"}) {
    EXPECT_EQ(node.control(wrong).status, 400) << wrong;
  }
  EXPECT_NE(client.get("/control").body.find("\"hang\":false"), std::string::npos);
  node.process().signal(SIGTERM);
  EXPECT_EQ(node.process().wait(seconds(5)), 0);
}

}  // namespace
}  // namespace steelyard::e2e
