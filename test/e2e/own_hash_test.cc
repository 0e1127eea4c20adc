// Keys land where other balancers put them: the same requests through Debian's Nginx and HAProxy
// and through the real binary, in front of the same nodes.
#include <gtest/gtest.h>
#include <set>
#include <signal.h>

#include "test/e2e/nginx_support.h"
#include "test/e2e/own_support.h"

namespace steelyard::e2e {
namespace {

constexpr int kKeys = 10'000;
constexpr int kNodes = 5;

class OwnHash : public ::testing::Test {
 protected:
  OwnHash() {
    for (int i = 0; i < kNodes; ++i) {
      nodes_.push_back(std::make_unique<Backend>("node" + std::to_string(i)));
    }
  }
  // `server NAME address weight …` and what follows, a line each.
  [[nodiscard]] std::string servers(bool with_names, const std::string& more) const {
    std::string out;
    for (const auto& node : nodes_) {
      out += "server " + (with_names ? node->name() + " " : "") +
             "127.0.0.1:" + std::to_string(node->port()) + more + "\n";
    }
    return out;
  }
  [[nodiscard]] std::string ours(const std::string& placement, const std::string& key,
                                 double weight) const {
    std::vector<Listed> listed;
    for (const auto& node : nodes_) listed.push_back({node->name(), node->port(), weight});
    return config(listed, "    pick: { ring: { placement: " + placement + " } }\n    key: " + key +
                              "\n    health: { slow_start: 0s }\n");
  }
  static std::string target(int key) {
    return "/item/" + std::to_string(key * 7919LL) + (key % 3 == 0 ? "/x" : "");
  }
  // Both for all keys; how many went elsewhere.
  static int differ(std::uint16_t theirs, std::uint16_t mine) {
    Client them(theirs);
    Client us(mine);
    int out = 0;
    std::set<std::string> used;
    for (int key = 0; key < kKeys; ++key) {
      const auto one = them.get(target(key));
      const auto other = us.get(target(key));
      if (one.status != 200 || other.status != 200) return kKeys;
      used.insert(one.body);
      out += one.body != other.body ? 1 : 0;
    }
    EXPECT_EQ(used.size(), static_cast<std::size_t>(kNodes));
    return out;
  }

  std::vector<std::unique_ptr<Backend>> nodes_;
};

TEST_F(OwnHash, ThePlacementOfNginxIsThatOfNginx) {
  RealNginx nginx;
  write_text(nginx.file(), "upstream api { hash $request_uri consistent;\n" +
                               servers(false, " weight=3;") + "keepalive 4; }\n");
  ASSERT_TRUE(nginx.start()) << read_text(nginx.dir / "nginx.log");
  Balancer balancer(ours("nginx", "uri", 3));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  EXPECT_EQ(differ(nginx.port(), balancer.port()), 0);
}

TEST_F(OwnHash, ThePlacementOfHaproxyIsThatOfHaproxy) {
  const TempDir dir;
  const auto port = free_port();
  const std::string file = dir / "haproxy.cfg";
  write_text(file,
             "defaults\n mode http\n timeout connect 5s\n timeout client 30s\n timeout server 30s\n"
             "listen l\n bind 127.0.0.1:" +
                 std::to_string(port) + "\n balance uri\n hash-type consistent\n" +
                 servers(true, " weight 10"));
  Process haproxy({"/usr/sbin/haproxy", "-db", "-f", file}, dir / "haproxy.log");
  Client probe(port);
  ASSERT_TRUE(wait_until([&] { return probe.get("/").status == 200; }, std::chrono::seconds(10)))
      << read_text(dir / "haproxy.log");
  Balancer balancer(ours("haproxy", "path", 10));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  EXPECT_EQ(differ(port, balancer.port()), 0);
  haproxy.signal(SIGTERM);
  EXPECT_NE(haproxy.wait(std::chrono::seconds(5)), -1);
}

}  // namespace
}  // namespace steelyard::e2e
