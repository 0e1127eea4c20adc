#include "steelyard/apply/nginx/plan.h"

#include <array>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>

#include "steelyard/base/rng.h"

#include "test/paths.h"

namespace steelyard::apply::nginx {
namespace {

using base::Address;
using model::Eligibility;
using model::TableUpstream;

model::TableNode node(std::string name, std::string_view address, double weight = 1,
                      Eligibility eligibility = Eligibility::kUsable) {
  auto parsed = Address::parse(address);
  EXPECT_TRUE(parsed) << address;
  return {.ref = {},
          .name = std::move(name),
          .address = parsed.value_or({}),
          .weight = weight,
          .eligibility = eligibility};
}

TableUpstream upstream(std::vector<model::TableNode> nodes) {
  return {.name = "api", .nodes = std::move(nodes), .panic = false};
}

std::string text_of(const TableUpstream& u, const NginxOptions& options = {}) {
  const auto made = plan(u, options);
  EXPECT_TRUE(made) << made.error().text;
  if (!made) return {};
  const auto text = write(*made);
  EXPECT_TRUE(text) << text.error().text;
  return text ? *text : std::string();
}

std::string golden(const std::string& name) {
  std::ifstream in(test::source_path("test/golden/nginx/" + name));
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(NginxPlan, RendersTheGoldenFiles) {
  NginxOptions rotation;
  rotation.balance = Balance::kRoundRobin;
  rotation.keepalive = 0;
  rotation.max_fails = 0;
  rotation.fail_timeout = std::chrono::seconds(5);
  auto panic = upstream({node("a", "10.0.0.1:80", 2, Eligibility::kOut),
                         node("b", "10.0.0.2:80", 1, Eligibility::kDraining)});
  panic.panic = true;
  struct Row {
    std::string name;
    TableUpstream upstream;
    NginxOptions options;
  };
  const std::array rows{
      Row{"default.conf",
          upstream(
              {node("node-a", "192.168.1.10:8080", 4), node("node-b", "192.168.1.11:8080", 3)}),
          {}},
      Row{"states.conf",
          upstream({node("usable", "10.0.0.1:80", 50),
                    node("trial", "10.0.0.2:80", 50, Eligibility::kTrial),
                    node("out", "10.0.0.3:80", 50, Eligibility::kOut),
                    node("draining", "10.0.0.4:80", 50, Eligibility::kDraining),
                    node("zero", "10.0.0.5:80", 0)}),
          {}},
      Row{"ipv6.conf", upstream({node("a", "[::1]:80"), node("b", "[2001:db8::a]:8080")}), {}},
      Row{"round_robin.conf", upstream({node("a", "10.0.0.1:80", 1), node("b", "10.0.0.2:80", 3)}),
          rotation},
      Row{"empty.conf", upstream({}), {}},
      Row{"panic.conf", panic, {}},
  };
  for (const Row& row : rows)
    EXPECT_EQ(text_of(row.upstream, row.options), golden(row.name)) << row.name;
}

TEST(NginxPlan, ScalesWeightsToALargestOfAHundred) {
  struct Row {
    std::string_view name;
    std::vector<double> weights;
    std::vector<unsigned> want;
  };
  const double huge = std::numeric_limits<double>::max();
  const std::array rows{
      Row{"one node is a hundred", {0.3}, {100}},
      Row{"proportions stay", {4, 3, 1}, {100, 75, 25}},
      Row{"nearest, not down", {3, 2, 1}, {100, 67, 33}},
      Row{"never below one", {1000, 1}, {100, 1}},
      Row{"zero is down", {1, 0}, {100, 0}},
      Row{"greatest doubles", {huge, huge / 2}, {100, 50}},
      Row{"least doubles", {5e-324, 5e-324}, {100, 100}},
  };
  for (const Row& row : rows) {
    TableUpstream u = upstream({});
    for (std::size_t i = 0; i < row.weights.size(); ++i) {
      u.nodes.push_back(node("n" + std::to_string(i), "10.0.0.1:80", row.weights[i]));
    }
    const auto made = plan(u, {});
    ASSERT_TRUE(made) << row.name;
    for (std::size_t i = 0; i < row.want.size(); ++i) {
      EXPECT_EQ(made->servers[i].weight, row.want[i]) << row.name << " node " << i;
    }
  }
}

TEST(NginxPlan, RefusesWhatMustNotGetIntoAFile) {
  const std::string long_name(64, 'x');
  const std::array<std::string, 16> names{
      "",    "a;}http{", "a\nb", "#a", "\"a\"", "$var", "a%41", std::string("a\0b", 3),
      "аpi", "a b",      "-a",   ".a", "_a",    "a/b",  "a\\b", long_name};
  for (const std::string& name : names) {
    TableUpstream bad_node = upstream({node("fine", "10.0.0.1:80")});
    bad_node.nodes[0].name = name;
    EXPECT_FALSE(plan(bad_node, {})) << quoted(name);
    TableUpstream bad_upstream = upstream({node("fine", "10.0.0.1:80")});
    bad_upstream.name = name;
    EXPECT_FALSE(plan(bad_upstream, {})) << quoted(name);
  }
  EXPECT_TRUE(plan(upstream({node(std::string(63, 'x'), "10.0.0.1:80")}), {}));
  EXPECT_FALSE(plan(upstream({node("a", "10.0.0.1:80"), node("a", "10.0.0.2:80")}), {}));
  for (const double weight : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(plan(upstream({node("a", "10.0.0.1:80", weight)}), {})) << weight;
  }
  TableUpstream no_address = upstream({node("a", "10.0.0.1:80")});
  no_address.nodes[0].address = {};
  EXPECT_FALSE(plan(no_address, {}));
  no_address.nodes[0].address = Address::v4({10, 0, 0, 1}, 0);
  EXPECT_FALSE(plan(no_address, {}));
}

TEST(NginxPlan, SaysWhichNodeIsRefusedWithoutRepeatingItsBytes) {
  TableUpstream u = upstream({node("fine", "10.0.0.1:80")});
  u.nodes[0].name = "a;\n}";
  const auto made = plan(u, {});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().text.find("upstream api, node \"a;\\x0a}\""), std::string::npos)
      << made.error().text;
}

TEST(NginxPlan, WriterRefusesAPlanThatWouldNotReadBack) {
  Plan p{.upstream = "api",
         .servers = {{.name = "a", .address = Address::loopback(80), .weight = 1}}};
  ASSERT_TRUE(write(p));
  Plan bad = p;
  bad.servers[0].name = "a\n server 10.0.0.9:80;";
  EXPECT_FALSE(write(bad));
  bad = p;
  bad.upstream = "api { server 10.0.0.9:80; } upstream x";
  EXPECT_FALSE(write(bad));
  bad = p;
  bad.servers[0].weight = 101;
  EXPECT_FALSE(write(bad));
  bad = p;
  bad.servers[0].trial = true;
  bad.servers[0].weight = 0;
  EXPECT_TRUE(write(bad)) << "a trial that is down stays what it is";
}

TEST(NginxPlan, KnowsItsOwnFilesAndTheirEdits) {
  const std::string ours = text_of(upstream({node("a", "10.0.0.1:80")}));
  EXPECT_EQ(owner(ours), Owner::kOurs);
  EXPECT_EQ(owner(""), Owner::kEmpty);
  EXPECT_EQ(owner("upstream api { server 10.0.0.1:80; }\n"), Owner::kForeign);
  EXPECT_EQ(owner("\n" + ours), Owner::kForeign);
  for (std::size_t at = 0; at < ours.size(); ++at) {  // every single byte changed or cut
    std::string edited = ours;
    edited[at] = edited[at] == 'x' ? 'y' : 'x';
    EXPECT_NE(owner(edited), Owner::kOurs) << at;
    EXPECT_NE(owner(ours.substr(0, at)), Owner::kOurs) << at;
    EXPECT_FALSE(read(edited)) << at;
  }
  EXPECT_EQ(owner(ours + "\n"), Owner::kEdited);
}

// Names and addresses as an attacker would choose them, and random ones: what is not refused comes
// back as exactly the intended nodes.
TEST(NginxPlan, AMillionNamesAndAddressesNeverSayMoreThanIntended) {
  constexpr std::uint64_t kSeed = 20260801;
  constexpr int kRounds = 250000;  // four nodes each
  base::Rng rng(kSeed);
  constexpr std::string_view kBytes = "aZ09._-;{}#\"'\\$% \n\r\t\0`*@:/[]\x7f\xc3\xa9";
  constexpr std::array<std::string_view, 8> kCrafted{
      "a;}http{", "x backup", "a # b", "down", "weight=0", "server", "a\nserver 1.2.3.4:80;", "}"};
  std::uint64_t taken = 0;
  std::uint64_t refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    TableUpstream u{.name = "api", .nodes = {}, .panic = rng.below(8) == 0};
    for (int i = 0; i < 4; ++i) {
      model::TableNode n;
      if (rng.below(16) == 0) {
        n.name = kCrafted[rng.below(kCrafted.size())];
      } else {
        // Mostly from the harmless front, so that both outcomes are common.
        const bool hostile = rng.below(4) == 0;
        const std::size_t size = 1 + rng.below(12);
        for (std::size_t k = 0; k < size; ++k) {
          n.name += kBytes[rng.below(hostile && rng.below(4) == 0 ? kBytes.size() : 4)];
        }
      }
      std::array<std::uint8_t, 16> ip{};
      for (auto& b : ip) b = rng.below(3) == 0 ? static_cast<std::uint8_t>(rng.below(256)) : 0;
      const auto port = static_cast<std::uint16_t>(rng.below(65536));
      n.address = rng.below(2) == 0 ? Address::v6(ip, port)
                                    : Address::v4({ip[0], ip[1], ip[2], ip[3]}, port);
      n.weight = rng.below(5) == 0 ? 0 : rng.unit() * 10;
      n.eligibility = static_cast<Eligibility>(rng.below(4));
      u.nodes.push_back(std::move(n));
    }
    const auto made = plan(u, {});
    if (!made) {
      ++refused;
      continue;
    }
    ++taken;
    const auto text = write(*made);
    ASSERT_TRUE(text) << "seed " << kSeed << " round " << round << ": " << text.error().text;
    const auto back = read(*text);
    ASSERT_TRUE(back) << "seed " << kSeed << " round " << round;
    ASSERT_EQ(back->servers.size(), u.nodes.size());
    for (std::size_t i = 0; i < u.nodes.size(); ++i) {
      ASSERT_EQ(back->servers[i].name, u.nodes[i].name) << "round " << round;
      ASSERT_EQ(back->servers[i].address, u.nodes[i].address) << "round " << round;
      ASSERT_EQ(back->servers[i].weight > 0,
                u.nodes[i].weight > 0 && model::in_rotation(u.nodes[i].eligibility, u.panic));
    }
    // Counted without our lexer: as many statements as lines, and one block.
    ASSERT_EQ(std::count(text->begin(), text->end(), ';'), static_cast<long>(6 + 1)) << *text;
    ASSERT_EQ(std::count(text->begin(), text->end(), '{'), 1);
    ASSERT_EQ(std::count(text->begin(), text->end(), '\n'), static_cast<long>(4 + 5));
  }
  EXPECT_GT(taken, 50000U);
  EXPECT_GT(refused, 50000U);
}

TEST(Cases, CFG_01_IPv6IsAlwaysInBrackets) {
  const std::string text = text_of(upstream(
      {node("a", "[::1]:80"), node("b", "[2001:db8::a]:80"), node("c", "[::ffff:192.0.2.1]:80")}));
  EXPECT_NE(text.find("server [::1]:80 "), std::string::npos) << text;
  EXPECT_NE(text.find("server [2001:db8::a]:80 "), std::string::npos) << text;
  const auto back = read(text);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(back->servers[2].address, *Address::parse("[::ffff:192.0.2.1]:80"));
  const auto bare = Address::parse("::1:80");
  ASSERT_FALSE(bare);
  EXPECT_NE(bare.error().text.find("write it in brackets"), std::string::npos);
  EXPECT_FALSE(Address::parse("[fe80::1%eth0]:80"));
}

TEST(Cases, CFG_03_WeightZeroIsDownAndNeverWritten) {
  TableUpstream u = upstream({node("a", "10.0.0.1:80", 0), node("b", "10.0.0.2:80", 1)});
  std::string text = text_of(u);
  EXPECT_NE(text.find("server 10.0.0.1:80 max_fails=3 fail_timeout=20s down; # a"),
            std::string::npos);
  EXPECT_EQ(text.find("weight=0"), std::string::npos);
  u.nodes[0].weight = 3;
  text = text_of(u);
  EXPECT_NE(text.find("server 10.0.0.1:80 weight=100 max_fails=3 fail_timeout=20s; # a"),
            std::string::npos);
  EXPECT_EQ(text.find("down"), std::string::npos);
  u.nodes[0].weight = u.nodes[1].weight = 0;
  EXPECT_TRUE(plan(u, {})->all_down());
  EXPECT_FALSE(plan(upstream({}), {})->all_down()) << "no node at all is the placeholder";
}

}  // namespace
}  // namespace steelyard::apply::nginx
