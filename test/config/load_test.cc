#include "steelyard/config/load.h"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "test/config/files.h"
#include "test/paths.h"

namespace steelyard::config {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kSixLines =
    "listeners:\n"
    "  - address: 127.0.0.1:8080\n"
    "    routes: [{ upstream: api }]\n"
    "upstreams:\n"
    "  api:\n"
    "    nodes: [127.0.0.1:8081, 127.0.0.1:8082]\n";

TEST(Load, TakesSixLinesAsAWorkingBalancer) {
  const auto loaded = load(kSixLines, "six.yaml");
  EXPECT_EQ(loaded.report(), "");
  ASSERT_TRUE(loaded.ok());
  const auto& document = *loaded.document;
  ASSERT_EQ(document.listeners.size(), 1U);
  EXPECT_EQ(document.listeners[0].address.to_text(), "127.0.0.1:8080");
  ASSERT_EQ(document.listeners[0].routes.size(), 1U);
  EXPECT_EQ(document.listeners[0].routes[0].match.path, "/");
  EXPECT_EQ(document.listeners[0].routes[0].upstream, "api");
  const auto setup = brain_setup(document);
  ASSERT_EQ(setup.upstreams.size(), 1U);
  EXPECT_EQ(setup.upstreams[0].spec.name, "api");
  ASSERT_EQ(setup.upstreams[0].spec.nodes.size(), 2U);
  EXPECT_EQ(setup.upstreams[0].spec.nodes[0].name, "127.0.0.1-8081");
  EXPECT_EQ(setup.upstreams[0].spec.nodes[1].address.port(), 8082);
  EXPECT_EQ(setup.upstreams[0].spec.nodes[1].weight, 1);
  ASSERT_NE(setup.upstreams[0].picker.kind, nullptr);
  EXPECT_EQ(setup.upstreams[0].picker.kind->name, pick::kDefaultPicker);
  EXPECT_FALSE(setup.upstreams[0].reloads);
}

TEST(Load, ReadsTheWholeExampleOfTheDesign) {
  const auto loaded = load(
      "listeners:\n"
      "  - address: 0.0.0.0:8080\n"
      "    routes:\n"
      "      - match: { host: api.example.com, path: / }\n"
      "        upstream: api\n"
      "upstreams:\n"
      "  api:\n"
      "    nodes:\n"
      "      - { name: node-a, address: 192.168.1.10:8080, weight: 4 }\n"
      "      - { name: node-b, address: 192.168.1.11:8080, weight: 3 }\n"
      "    pick: least_connections\n"
      "    sense:\n"
      "      score: { path: /health/score, interval: 10s, timeout: 3s }\n"
      "    health:\n"
      "      active: { http: { path: /health }, interval: 5s, fall: 3, rise: 2 }\n"
      "      passive: { consecutive_failures: 5 }\n"
      "      slow_start: 60s\n"
      "    weigh: { controller: score_map, smooth: { window: 5 }, threshold: 20%, cooldown: 30s, "
      "floor: 1 }\n"
      "    apply:\n"
      "      nginx: { file: /etc/nginx/conf.d/upstream.conf, test: [nginx, -t], reload: [nginx, "
      "-s, reload] }\n"
      "admin:\n"
      "  address: 127.0.0.1:9180\n",
      "design.yaml");
  EXPECT_EQ(loaded.report(), "");
  ASSERT_TRUE(loaded.ok());
  const auto* api = loaded.document->upstreams.find("api");
  ASSERT_NE(api, nullptr);
  EXPECT_EQ(api->nodes[0].weight, 4.0);
  ASSERT_TRUE(api->sense.score);
  EXPECT_EQ(api->sense.score->timeout, base::Duration(3s));
  ASSERT_TRUE(api->health.active && api->health.active->http);
  EXPECT_EQ(api->health.slow_start, base::Duration(60s));
  EXPECT_EQ(api->weigh.controller.name, "score_map");
  EXPECT_EQ(api->weigh.threshold, 0.2);
  ASSERT_TRUE(api->apply.nginx);
  EXPECT_EQ(api->apply.nginx->reload, (std::vector<std::string>{"nginx", "-s", "reload"}));
  EXPECT_TRUE(brain_setup(*loaded.document).upstreams[0].reloads);
}

TEST(Load, GivesNoDocumentWhenAnythingIsWrong) {
  const auto loaded = load(std::string(kSixLines) + "workrs: 2\n", "f");
  EXPECT_FALSE(loaded.ok());
  EXPECT_FALSE(loaded.document.has_value());
  EXPECT_EQ(loaded.report(), "f:7:1: unknown key \"workrs\", did you mean \"workers\"?\n");
}

TEST(Load, AByteOrderMarkIsNoMistakeAndControlBytesAreShownAsText) {
  EXPECT_TRUE(load("\xef\xbb\xbf" + std::string(kSixLines), "f").ok());
  const auto loaded = load(std::string(kSixLines) + "\"a\\e[31m\\n\": 1\n", "f");
  EXPECT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.report().find('\x1b'), std::string::npos);
  EXPECT_NE(loaded.report().find("\\x1b[31m\\x0a"), std::string::npos) << loaded.report();
}

TEST(Load, GivesADocumentBesideWarnings) {
  const auto loaded = load(std::string(kSixLines) + "  spare: { nodes: [127.0.0.1:8083] }\n", "f");
  EXPECT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.problems.warnings(), 1U);
  EXPECT_EQ(loaded.report(),
            "f:7:10: warning: upstreams.spare: is used by no route and applied nowhere\n");
}

TEST(Load, LetsListenersBeLeftOutWhereAnotherBalancerIsDriven) {
  const auto loaded = load(
      "upstreams:\n  api:\n    nodes: [127.0.0.1:8081]\n    apply: { nginx: { file: /tmp/up.conf } "
      "}\n",
      "f");
  EXPECT_EQ(loaded.report(), "");
  ASSERT_TRUE(loaded.ok());
  EXPECT_TRUE(loaded.document->listeners.empty());
}

TEST(Load, KeepsPickersApartThatHaveNoOptions) {
  const auto loaded = load(std::string(kSixLines) + "    pick: { p2c: {} }\n", "f");
  EXPECT_EQ(loaded.report(), "");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.document->upstreams.find("api")->pick.name, "p2c");
}

TEST(PidFile, IsFoundInABrokenFileToo) {
  struct Row {
    std::string_view name, text, want;
  };
  constexpr std::array rows{
      Row{"a wrong key", "workrs: 1\npid_file: /run/a.pid\n", "/run/a.pid"},
      Row{"broken before", "upstreams: [\npid_file: \"/run/b.pid\"  # ours\n", "/run/b.pid"},
      Row{"broken after", "pid_file: /run/c.pid\n\tx: 1\n", "/run/c.pid"},
      Row{"not at all", "workrs: 1\n", ""},
      Row{"no text", "", ""},
      Row{"a mapping", "pid_file: {}\n", ""}};
  for (const auto& row : rows) EXPECT_EQ(pid_file_in(row.text), row.want) << row.name;
}

TEST(FixedOptions, EachIsToldWhenItChanges) {
  struct Row {
    std::string_view key, tail;
  };
  constexpr std::array rows{Row{"workers", "workers: 3\n"},
                            Row{"io", "io: epoll\n"},
                            Row{"clients.max_head", "clients: { max_head: 32KiB }\n"},
                            Row{"clients.max_fields", "clients: { max_fields: 50 }\n"},
                            Row{"clients.max_line", "clients: { max_line: 4KiB }\n"},
                            Row{"clients.max_body", "clients: { max_body: 1MiB }\n"},
                            Row{"pid_file", "pid_file: /run/steelyard.pid\n"}};
  const auto before = load(kSixLines, "f");
  ASSERT_TRUE(before.ok());
  EXPECT_TRUE(fixed_changes(*before.document, *before.document).empty());
  std::vector<std::string> keys;
  for (const auto& row : rows) {
    const auto after = load(std::string(kSixLines) + std::string(row.tail), "f");
    ASSERT_TRUE(after.ok()) << after.report();
    EXPECT_EQ(fixed_changes(*before.document, *after.document),
              std::vector<std::string>{std::string(row.key)});
    keys.emplace_back(row.key);
  }
  EXPECT_EQ(fixed_options(), keys);
  const auto live = load(std::string(kSixLines) + "clients: { max_requests: 9 }\n", "f");
  EXPECT_TRUE(fixed_changes(*before.document, *live.document).empty());
}

TEST(FromFlags, MakesTheDocumentOfTheSixLineFile) {
  const auto flags = from_flags("", std::vector<std::string>{"127.0.0.1:8081", "127.0.0.1:8082"});
  ASSERT_TRUE(flags);
  EXPECT_EQ(flags->listeners[0].address.to_text(), kDefaultListener);
  const auto file = load(kSixLines, "f");
  ASSERT_TRUE(file.ok());
  auto from_file = brain_setup(*file.document);
  const auto ours = brain_setup(*flags);
  ASSERT_EQ(ours.upstreams.size(), 1U);
  EXPECT_EQ(ours.upstreams[0].spec.nodes, from_file.upstreams[0].spec.nodes);
  EXPECT_EQ(ours.upstreams[0].picker.kind, from_file.upstreams[0].picker.kind);
  EXPECT_EQ(ours.upstreams[0].spec.name, kFlagsUpstream);
  EXPECT_EQ(flags->listeners[0].routes[0].upstream, kFlagsUpstream);
}

TEST(FromFlags, TakesAPortAloneAsEveryAddress) {
  const auto flags = from_flags(":8080", std::vector<std::string>{"[::1]:8081"});
  ASSERT_TRUE(flags);
  EXPECT_EQ(flags->listeners[0].address.to_text(), "0.0.0.0:8080");
  EXPECT_EQ(flags->upstreams.entries[0].second.nodes[0].name, "v6---1-8081");
}

TEST(FromFlags, ExplainsWhatIsWrong) {
  const auto text = [](std::string_view listen, const std::vector<std::string>& to) {
    const auto flags = from_flags(listen, to);
    return flags ? std::string("fine") : flags.error().text;
  };
  EXPECT_EQ(text("", {}), "--to: names no node");
  EXPECT_EQ(text("8080", {"127.0.0.1:1"}),
            "--listen: \"8080\" has no host, write :8080 for every address");
  EXPECT_EQ(text("", {"127.0.0.1"}), "--to: \"127.0.0.1\" has no port, write host:port");
  EXPECT_EQ(text("", {"127.0.0.1:1", "127.0.0.1:1"}), "--to: names 127.0.0.1:1 twice");
}

TEST(Names, FromAddressesAreIdentifiers) {
  for (const auto* text : {"10.0.0.1:80", "[2001:db8::1]:65535", "[::]:1",
                           "[2001:db8:1111:2222:3333:4444:5555:6666]:65535"}) {
    const auto address = base::Address::parse(text);
    ASSERT_TRUE(address) << text;
    const auto loaded = load("upstreams: { a: { nodes: [{ name: " + name_from(*address) +
                                 ", address: 10.0.0.1:1 }], apply: { nginx: { file: /x } } } }\n",
                             "f");
    EXPECT_EQ(loaded.report(), "") << text;
  }
}

TEST(Generated, SchemaAndManualAreAsCommitted) {
  const auto schema = test::source_path("docs/config.schema.json");
  const auto text = test::source_path("docs/configuration.md");
  if (std::getenv("STEELYARD_UPDATE_GOLDEN") != nullptr) {
    write_file(schema, render_schema());
    write_file(text, manual());
  }
  EXPECT_EQ(read_file(schema), render_schema()) << "run config_test with STEELYARD_UPDATE_GOLDEN=1";
  EXPECT_EQ(read_file(text), manual()) << "run config_test with STEELYARD_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace steelyard::config
