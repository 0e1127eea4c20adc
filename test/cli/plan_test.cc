#include "steelyard/cli/plan.h"

#include <gtest/gtest.h>

#include "steelyard/config/load.h"

namespace steelyard::cli {
namespace {

TEST(Plan, NamesEveryRouteAndWhatHealthIsJudgedBy) {
  const auto loaded = config::load(
      "listeners:\n"
      "  - address: 127.0.0.1:8080\n"
      "    routes:\n"
      "      - match: { host: a.example, path: /api, methods: [GET, HEAD] }\n"
      "        upstream: plain\n"
      "      - match: { path_exact: /x, headers: { X-Version: v2 }, clients: [10.0.0.0/8] }\n"
      "        split: [{ upstream: checked, weight: 95 }, { upstream: none, weight: 5 }]\n"
      "      - upstream: quiet\n"
      "upstreams:\n"
      "  plain: { nodes: [127.0.0.1:1] }\n"
      "  checked: { nodes: [127.0.0.1:2, 127.0.0.1:3], health: { active: { tcp: {} } } }\n"
      "  quiet: { nodes: [127.0.0.1:4], health: { active: { tcp: {} },\n"
      "           passive: { consecutive_failures: 0 } } }\n"
      "  none: { nodes: [127.0.0.1:5], health: { passive: { consecutive_failures: 0 } } }\n",
      "f");
  ASSERT_TRUE(loaded.ok()) << loaded.report();
  const std::string tail =
      "; weights by static: nothing is collected from the nodes (sense.score)\n";
  EXPECT_EQ(
      plan_of(*loaded.document),
      "route 127.0.0.1:8080, a.example, path /api and below, methods GET HEAD -> upstream plain\n"
      "route 127.0.0.1:8080, any host, path exactly /x, by header X-Version, clients 10.0.0.0/8 -> "
      "split by random: checked 95, none 5\n"
      "route 127.0.0.1:8080, any host, any path -> upstream quiet\n"
      "upstream plain: 1 node, picked by least_connections; health by traffic alone (no "
      "health.active)" +
          tail +
          "upstream checked: 2 nodes, picked by least_connections; health by checks and traffic" +
          tail + "upstream quiet: 1 node, picked by least_connections; health by checks alone" +
          tail +
          "upstream none: 1 node, picked by least_connections; health by nothing (no "
          "health.active, no consecutive_failures): no node is taken out" +
          tail +
          "fixed until restart: workers, io, clients.max_head, clients.max_fields, "
          "clients.max_line, clients.max_body, pid_file\n");
}

}  // namespace
}  // namespace steelyard::cli
