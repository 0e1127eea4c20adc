// The catalogue's trouble cases that a configuration decides.
#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "steelyard/config/load.h"
#include "steelyard/pick/registry.h"

namespace steelyard::config {
namespace {

std::string with_nodes(std::string_view nodes) {
  return "listeners: [{ address: 127.0.0.1:8080, routes: [{ upstream: a }] }]\nupstreams:\n  a:\n  "
         "  nodes:\n" +
         std::string(nodes);
}

TEST(Cases, CFG_01_AnIPv6AddressWithoutBracketsIsRefusedWithTheRightForm) {
  struct Row {
    std::string_view written, want;
  };
  constexpr std::array rows{
      Row{"::1", "\"::1\" looks like IPv6, write it in brackets: [::1]:PORT"},
      Row{"::1:1234", "\"::1:1234\" looks like IPv6, write it in brackets: [::1]:1234"},
      Row{"2001:db8::a",
          "\"2001:db8::a\" looks like IPv6, write it in brackets: [2001:db8::a]:PORT"},
      Row{"2001:db8::a:80",
          "\"2001:db8::a:80\" looks like IPv6, write it in brackets: [2001:db8::a]:80"},
      Row{"fe80::1%eth0",
          "\"fe80::1%eth0\" looks like IPv6, write it in brackets: [fe80::1]:PORT (zones are not "
          "taken)"},
      Row{"::ffff:192.0.2.1",
          "\"::ffff:192.0.2.1\" looks like IPv6, write it in brackets: [::ffff:192.0.2.1]:PORT"},
  };
  for (const auto& row : rows) {
    const auto loaded = load(with_nodes("      - \"" + std::string(row.written) + "\"\n"), "f");
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.report(), "f:5:9: upstreams.a.nodes[0]: " + std::string(row.want) + "\n");
  }
}

TEST(Cases, CFG_01_BracketedAddressesKeepTheirIdentity) {
  const auto loaded = load(with_nodes("      - \"[::1]:80\"\n      - \"[2001:db8:0:0::a]:80\"\n    "
                                      "  - \"[::ffff:192.0.2.1]:80\"\n"),
                           "f");
  EXPECT_EQ(loaded.report(), "");
  ASSERT_TRUE(loaded.ok());
  const auto spec = brain_setup(*loaded.document).upstreams[0].spec;
  for (const auto& node : spec.nodes) {
    const auto again = base::Address::parse(node.address.to_text());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, node.address);
    EXPECT_EQ(name_from(*again), node.name);
  }
  EXPECT_EQ(spec.nodes[1].address.to_text(), "[2001:db8::a]:80");
}

TEST(Cases, CFG_08_NoSettingIsSilentlyIneffective) {
  const std::string head = with_nodes("      - 127.0.0.1:8081\n");
  struct Row {
    std::string_view name, tail, want;
  };
  std::string unknown = "f:6:11: upstreams.a.pick: unknown name \"wrrr\", known are ";
  for (const auto& kind : pick::kinds()) unknown += std::string(kind.name) + ", ";
  unknown.replace(unknown.size() - 2, 2, "\n");
  const std::array rows{
      Row{"an unknown picker", "    pick: wrrr\n", unknown},
      Row{"a misspelt picker", "    pick: round_robbin\n",
          "f:6:11: upstreams.a.pick: unknown name \"round_robbin\", did you mean "
          "\"round_robin\"?\n"},
      Row{"a misspelt key", "    wiegh: {}\n",
          "f:6:5: upstreams.a: unknown key \"wiegh\", did you mean \"weigh\"?\n"},
      Row{"a duplicate key", "    pick: p2c\n    pick: p2c\n",
          "f:7:5: upstreams.a: duplicate key \"pick\", first at 6:5\n"},
      Row{"a tab", "    health:\n\t  slow_start: 5s\n",
          "f:7:1: a tab stands in the indentation, YAML takes only spaces there\n"},
      Row{"a setting that static ignores", "    weigh: { controller: static, cooldown: 5s }\n",
          "f:6:44: warning: upstreams.a.weigh.cooldown: has no effect: the controller is static, "
          "weights do not move\n"},
      Row{"a controller without its signal", "    weigh: { controller: cpu_target }\n",
          "f:6:26: upstreams.a.weigh.controller: is cpu_target, which needs utilisation: add "
          "sense: { score: {} }, which "
          "collects it\n"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(load(head + std::string(row.tail), "f").report(), row.want);
  }
  EXPECT_EQ(load(with_nodes("      - { address: 127.0.0.1:8081, weight: \"3x\" }\n"), "f").report(),
            "f:5:44: upstreams.a.nodes[0].weight: is the text \"3x\", must be a number (0 to "
            "1000000) without quotes\n");
  EXPECT_EQ(load(with_nodes("      - { address: 127.0.0.1:8081, wieght: 3 }\n"), "f").report(),
            "f:5:36: upstreams.a.nodes[0]: unknown key \"wieght\", did you mean \"weight\"?\n");
}

TEST(Cases, WGT_17_AMissingWeightIsOneWithOneWarningAndABadOneAnError) {
  const auto missing = load(with_nodes("      - { address: 127.0.0.1:1, weight: 3 }\n      - "
                                       "127.0.0.1:2\n      - 127.0.0.1:3\n"),
                            "f");
  EXPECT_EQ(missing.report(),
            "f:6:9: warning: upstreams.a.nodes[1]: has no weight while others have one, so it gets "
            "1 (2 nodes are like "
            "that)\n");
  ASSERT_TRUE(missing.ok());
  const auto nodes = brain_setup(*missing.document).upstreams[0].spec.nodes;
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].weight, 3);
  EXPECT_EQ(nodes[1].weight, 1);
  EXPECT_EQ(nodes[2].weight, 1);

  const auto bad =
      load(with_nodes("      - { address: 127.0.0.1:1, weight: 3 }\n      - 127.0.0.1:2\n"
                      "      - { address: 127.0.0.1:3, weight: x }\n"),
           "f");
  EXPECT_FALSE(bad.ok());
  EXPECT_NE(bad.report().find("f:7:41: upstreams.a.nodes[2].weight: is x, must be a number\n"),
            std::string::npos)
      << bad.report();

  const auto none = load(with_nodes("      - 127.0.0.1:1\n      - 127.0.0.1:2\n"), "f");
  EXPECT_EQ(none.report(), "");
}

}  // namespace
}  // namespace steelyard::config
