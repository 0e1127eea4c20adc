// The admin API of a running balancer: what it shows, who may change what, and when a change holds.
#include <gtest/gtest.h>

#include "test/e2e/own_support.h"

namespace steelyard::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class OwnAdmin : public ::testing::Test {
 protected:
  static std::string text(const Backend& a, const Backend& b, const std::string& more_admin = "") {
    const auto nodes = nodes_line({{"a", a.port(), 2}, {"b", b.port(), 2}});
    return "listeners:\n  - address: 127.0.0.1:0\n    routes:\n      - { upstream: api }\n"
           "      - { match: { path: /other }, upstream: other }\n"
           "upstreams:\n  api:\n" +
           nodes + "    pick: smooth_weighted_round_robin\n    health: { slow_start: 0s }\n" +
           "  other:\n" + nodes_line({{"b", b.port()}, {"c", b.port()}}) +
           admin_section(more_admin);
  }
  // A change request with these header fields, Content-Length excepted.
  int change(const std::string& fields, const std::string& body,
             const std::string& method = "POST") {
    last_ = Client(balancer_.admin_port())
                .send(method + " /api/adjust-weight HTTP/1.1\r\n" + fields +
                      "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return last_.status;
  }

  Backend a_{"a"};
  Backend b_{"b"};
  Balancer balancer_{text(a_, b_)};
  Response last_;
};

const std::string kHost = "Host: localhost\r\n";
const std::string kJson = "Content-Type: application/json\r\n";
const std::string kWithKey = "X-API-Key: " + std::string(kKey) + "\r\n";
const std::string kGood = R"({"upstream": "api", "node": "a", "weight": 4})";

TEST_F(OwnAdmin, MetricsPassPromtool) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  (void)spread(balancer_.port(), 20, 2);
  ASSERT_EQ(balancer_.adjust("a", 4).status, 200);
  ASSERT_TRUE(balancer_.reload());
  const TempDir dir;
  const Response metrics = balancer_.get("/metrics");
  ASSERT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  write_text(dir / "metrics", metrics.body);
  EXPECT_EQ(run({"/bin/sh", "-c", "promtool check metrics < " + (dir / "metrics")}, dir / "out"),
            0);
  EXPECT_EQ(read_text(dir / "out"), "") << "not even a lint";
  EXPECT_EQ(balancer_.metric("steelyard_http_requests_total{code_class=\"2xx\"}"), 20);
  EXPECT_EQ(balancer_.metric("steelyard_node_weight{upstream=\"api\",node=\"a\",kind=\"applied\"}"),
            4);
}

TEST_F(OwnAdmin, StateIsShownAndMissingThingsAreNamed) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  EXPECT_EQ(balancer_.get("/healthz").status, 200);
  Response ready;  // once every worker has the first table
  EXPECT_TRUE(wait_until(
      [&] {
        ready = balancer_.get("/readyz");
        return ready.status == 200;
      },
      seconds(5)))
      << ready.body;
  EXPECT_NE(ready.body.find("upstream api: 2 of 2 nodes in rotation"), std::string::npos);
  EXPECT_EQ(balancer_.nodes().size(), 2U);
  EXPECT_EQ(balancer_.node("a").address, "127.0.0.1:" + std::to_string(a_.port()));
  EXPECT_EQ(balancer_.node("a").share_wanted, 0.5);
  EXPECT_NE(balancer_.get("/api/v1/upstreams").body.find("\"other\""), std::string::npos);
  EXPECT_EQ(balancer_.get("/api/v1/upstreams/nowhere").status, 404);
  EXPECT_EQ(balancer_.get("/api/v1/nothing").status, 404);
  EXPECT_EQ(balancer_.get("/api/v1/decisions?limit=0").status, 400);
  EXPECT_EQ(balancer_.get("/api/v1/decisions?limit=many").status, 400);
  EXPECT_EQ(Client(balancer_.admin_port())
                .send("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
                .status,
            405);
}

TEST_F(OwnAdmin, DecisionsAreFilteredByNodeNewestFirst) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  for (const double weight : {3.0, 5.0, 7.0}) {
    ASSERT_EQ(balancer_.adjust("a", weight).status, 200);
    ASSERT_EQ(balancer_.adjust("c", weight).status, 200);
  }
  const auto all = balancer_.decisions("?limit=1000");
  const auto of_a = balancer_.decisions("?node=a&upstream=api");
  ASSERT_GE(of_a.size(), 3U);
  EXPECT_LT(of_a.size(), all.size());
  for (const auto& d : of_a) {
    EXPECT_EQ(d.node, "a");
    EXPECT_EQ(d.upstream, "api");
    EXPECT_FALSE(d.reason.empty());
  }
  EXPECT_NE(of_a[0].reason.find('7'), std::string::npos) << of_a[0].reason;
  EXPECT_NE(of_a[1].reason.find('5'), std::string::npos) << of_a[1].reason;
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i - 1].at, all[i].at);
  EXPECT_EQ(balancer_.decisions("?node=a&limit=2").size(), 2U);
  EXPECT_TRUE(balancer_.decisions("?node=nobody").empty());
}

TEST_F(OwnAdmin, RefusalsOfAChangeAreToldApart) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  struct Row {
    std::string name, fields, body;
    int status;
  };
  const std::string all = kHost + kJson + kWithKey;
  const std::vector<Row> rows{
      {"right", all, kGood, 200},
      {"a charset is fine", kHost + "Content-Type: application/json; charset=utf-8\r\n" + kWithKey,
       kGood, 200},
      {"our own page", all + "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n", kGood,
       200},
      {"no key", kHost + kJson, kGood, 401},
      {"a wrong key", kHost + kJson + "X-API-Key: sy_wrong\r\n", kGood, 401},
      {"an empty key", kHost + kJson + "X-API-Key: \r\n", kGood, 401},
      {"a page of another site", all + "Origin: http://evil.example\r\n", kGood, 403},
      {"an opaque page", all + "Origin: null\r\n", kGood, 403},
      {"a cross-site request", all + "Sec-Fetch-Site: cross-site\r\n", kGood, 403},
      {"a rebound name", "Host: evil.example\r\n" + kJson + kWithKey, kGood, 421},
      {"a form", kHost + "Content-Type: application/x-www-form-urlencoded\r\n" + kWithKey, kGood,
       415},
      {"no type", kHost + kWithKey, kGood, 415},
      {"not JSON", all, "node=a", 400},
      {"no weight", all, R"({"node": "a"})", 400},
      {"a negative weight", all, R"({"node": "a", "weight": -1})", 400},
      {"a text as weight", all, R"({"node": "a", "weight": "4"})", 400},
      {"too much weight", all, R"({"node": "a", "weight": 1000001})", 400},
      {"a misspelt field", all, R"({"node": "a", "weight": 1, "expire": "1h"})", 400},
      {"a field twice", all, R"({"node": "a", "weight": 1, "weight": 2})", 400},
      {"no duration", all, R"({"node": "a", "weight": 1, "expires": "soon"})", 400},
      {"an unknown node", all, R"({"node": "nobody", "weight": 1})", 404},
      {"an unknown upstream", all, R"({"upstream": "nowhere", "node": "a", "weight": 1})", 404},
      {"a name in two upstreams", all, R"({"node": "b", "weight": 1})", 409},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(change(row.fields, row.body), row.status) << row.name << ": " << last_.body;
    if (row.status != 200) {
      EXPECT_NE(last_.body.find("\"text\""), std::string::npos) << row.name << ": with a reason";
    }
  }
  EXPECT_EQ(change(all, kGood, "PUT"), 405);
  EXPECT_EQ(last_.headers["allow"], "POST");
  EXPECT_EQ(Client(balancer_.admin_port()).get("/api/adjust-weight").status, 405);
  EXPECT_EQ(Client(balancer_.admin_port()).get("/metrics", "evil.example").status, 421)
      << "reading too";
  EXPECT_EQ(balancer_.node("a").weight, 4) << "refusals have changed nothing";
  EXPECT_EQ(balancer_.node("b").weight, 2);

  ASSERT_TRUE(balancer_.reload(text(a_, b_, ", allow: [10.0.0.0/8]"))) << balancer_.log();
  EXPECT_EQ(change(all, kGood), 403) << "from outside the networks";
  EXPECT_EQ(balancer_.get("/metrics").status, 200) << "reading goes on";
}

TEST_F(OwnAdmin, AnOverrideTellsWhoAndWhyAndEndsByItself) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  const auto answer =
      balancer_.adjust("a", 6, R"(,"upstream":"api","reason":"canary","expires":"1s")");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find("\"canary\""), std::string::npos);
  EXPECT_NE(answer.body.find("\"tests\""), std::string::npos) << "the key's name";
  EXPECT_EQ(balancer_.node("a").weight, 6);
  EXPECT_EQ(balancer_.node("a").override_by, "tests");
  EXPECT_EQ(spread(balancer_.port(), 80, 1), (std::map<std::string, int>{{"a", 60}, {"b", 20}}));
  EXPECT_TRUE(balancer_.node_becomes(
      "a", [](const NodeState& n) { return !n.override_weight && n.weight == 2; }, seconds(5)));
  ASSERT_EQ(balancer_.adjust("a", 6).status, 200);
  EXPECT_EQ(Client(balancer_.admin_port())
                .send("DELETE /api/v1/upstreams/api/nodes/a/override HTTP/1.1\r\n" + kHost +
                      kWithKey + "\r\n")
                .status,
            200);
  EXPECT_EQ(balancer_.node("a").weight, 2) << "or is taken back";
}

TEST_F(OwnAdmin, AnOverrideOutlivesAReload) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  ASSERT_EQ(balancer_.adjust("a", 6).status, 200);
  ASSERT_TRUE(balancer_.reload());
  EXPECT_EQ(balancer_.node("a").override_weight, 6);
  EXPECT_EQ(spread(balancer_.port(), 80, 1), (std::map<std::string, int>{{"a", 60}, {"b", 20}}));
}

TEST_F(OwnAdmin, WeightZeroDrainsAndWhatIsUnderWayIsFinished) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  a_.delay(milliseconds(400));
  b_.delay(milliseconds(400));
  std::vector<std::thread> clients;
  std::atomic<int> from_a{0};
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      const Response answer = Client(balancer_.port()).get("/");
      if (answer.status == 200) ++good;
      if (answer.body == "a") ++from_a;
    });
  }
  EXPECT_TRUE(wait_until([&] { return a_.hits() + b_.hits() == 4; }, seconds(5)));
  ASSERT_EQ(balancer_.adjust("a", 0).status, 200);
  const auto hits = a_.hits();
  EXPECT_EQ(balancer_.node("a").state, "draining");
  EXPECT_EQ(balancer_.node("a").share_wanted, 0);
  b_.delay(milliseconds(0));
  EXPECT_EQ(spread(balancer_.port(), 50, 5), (std::map<std::string, int>{{"b", 50}}));
  for (auto& client : clients) client.join();
  EXPECT_EQ(good, 4) << "requests under way were finished";
  EXPECT_GE(from_a, 1);
  EXPECT_EQ(a_.hits(), hits);
  ASSERT_EQ(balancer_.adjust("a", 2).status, 200);
  a_.delay(milliseconds(0));
  EXPECT_EQ(spread(balancer_.port(), 50, 1)["a"], 25) << "and back";
}

TEST_F(OwnAdmin, NoKeyEverShowsUp) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  const std::string wrong = "sy_wrong-but-secret-9876";
  ASSERT_EQ(change(kHost + kJson + kWithKey, kGood), 200);
  std::string shown = last_.body;
  EXPECT_EQ(change(kHost + kJson + "X-API-Key: " + wrong + "\r\n", kGood), 401);
  shown += last_.body;
  EXPECT_EQ(change(kHost + kJson + "X-API-Key: " + wrong + "\r\n", "{"), 401);
  shown += last_.body;
  ASSERT_TRUE(balancer_.reload());
  for (const std::string path : {"/metrics", "/api/v1/upstreams", "/api/v1/decisions",
                                 "/api/v1/drivers", "/api/v1/process", "/readyz", "/"}) {
    const auto answer = balancer_.get(path);
    EXPECT_EQ(answer.status, 200) << path;
    shown += answer.body;
  }
  shown += balancer_.log();
  EXPECT_NE(shown.find("\"tests\""), std::string::npos) << "the key's name is shown";
  EXPECT_EQ(shown.find(kKey), std::string::npos);
  EXPECT_EQ(shown.find(wrong), std::string::npos);
}

TEST_F(OwnAdmin, TheIndexShowsAChangeAtTheAddressThatWasAsked) {
  ASSERT_TRUE(balancer_.up()) << balancer_.log();
  const auto here = "localhost:" + std::to_string(balancer_.admin_port());
  const auto index = Client(balancer_.admin_port()).get("/", here).body;
  EXPECT_NE(index.find(" http://" + here + "/api/adjust-weight\n"), std::string::npos) << index;
}

}  // namespace
}  // namespace steelyard::e2e
