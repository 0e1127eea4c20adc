// `steelyard check`: what it finds wrong, where, and what it says of what is fine.
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "test/cli/commands.h"
#include "test/paths.h"

namespace steelyard::cli {
namespace {

TEST_F(Commands, CheckTellsEveryMistakeAtOnceAtItsPlace) {
  write("bad.yaml", std::string(kHead) +
                        "    nodes: [{ address: 127.0.0.1:8081, wieght: 3 }]\n"
                        "    pick: least_conections\nworkrs: 2\n");
  const auto done = run("check bad.yaml");
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.out, "");
  EXPECT_EQ(done.err,
            "bad.yaml:6:40: upstreams.api.nodes[0]: unknown key \"wieght\", did you mean "
            "\"weight\"?\n"
            "bad.yaml:7:11: upstreams.api.pick: unknown name \"least_conections\", did you mean "
            "\"least_connections\"?\n"
            "bad.yaml:8:1: unknown key \"workrs\", did you mean \"workers\"?\n"
            "bad.yaml: 3 errors\n");
  const auto absent = nlohmann::json::parse(run("check --json no/such.yaml").out);
  EXPECT_EQ(absent["problems"].at(0)["text"], "read no/such.yaml: No such file or directory");
  const auto json = nlohmann::json::parse(run("check --json bad.yaml").out);
  EXPECT_EQ(json["ok"], false);
  ASSERT_EQ(json["problems"].size(), 3U);
  EXPECT_EQ(json["problems"][2]["line"], 8);
  EXPECT_EQ(json["problems"][2]["column"], 1);
  EXPECT_EQ(json["problems"][2]["severity"], "error");
}

TEST_F(Commands, CheckSaysWhatItWillDo) {
  write("good.yaml", kGood);
  const auto done = run("check good.yaml");
  EXPECT_NE(done.out.find("upstream api: 2 nodes, picked by least_connections; health by "),
            std::string::npos)
      << done.out;
  EXPECT_NE(done.out.find("fixed until restart: workers, io, clients.max_head, "
                          "clients.max_fields, clients.max_line, clients.max_body, pid_file\n"),
            std::string::npos)
      << done.out;
  EXPECT_NE(done.out.find("good.yaml: fine\n"), std::string::npos);
  EXPECT_EQ(run("check --quiet good.yaml").out, "");
  EXPECT_EQ(run("check", "STEELYARD_CONFIG=good.yaml").code, 0) << "the file may be named so";
}

TEST_F(Commands, CheckFindsWhatRunWouldRefuseOnThisMachine) {
  write("lost.yaml", kGood + "log: { file: nowhere/access.log }\n");
  for (const std::string command : {"check lost.yaml", "-t -c lost.yaml"}) {
    const auto done = run(command);
    EXPECT_EQ(done.code, 1) << command;
    EXPECT_EQ(done.err.find("lost.yaml:7:14: log.file: cannot log to nowhere/access.log: No such "
                            "file or directory\n"),
              0U)
        << done.err;
  }
  std::filesystem::create_directory(dir_ / "nowhere");
  EXPECT_EQ(run("check --strict lost.yaml").code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "nowhere")) << "check makes no file";
  std::filesystem::create_directory(dir_ / "nowhere/access.log");
  EXPECT_EQ(run("check lost.yaml").code, 1) << "a directory is no log";

  const std::string two =
      "upstreams:\n"
      "  a:\n    nodes: [127.0.0.1:1]\n    apply: { nginx: { file: /tmp/a.conf, gap: 1s } }\n"
      "  b:\n    nodes: [127.0.0.1:2]\n    apply: { nginx: { file: /tmp/b.conf, gap: 2s } }\n";
  write("two.yaml", two);
  const auto done = run("check two.yaml");
  EXPECT_EQ(done.code, 1) << done.out;
  EXPECT_NE(done.err.find("two.yaml:2:3: upstreams: upstreams a and b drive the Nginx of"),
            std::string::npos)
      << done.err;
}

TEST_F(Commands, NoTwoFilesOfAConfigurationAreOne) {
  std::filesystem::create_directory(dir_ / "logs");
  std::filesystem::create_directory_symlink(dir_ / "logs", dir_ / "linked");
  write("hard.log", "");
  std::filesystem::create_hard_link(dir_ / "hard.log", dir_ / "other.log");
  struct Row {
    std::string rest, error;
  };
  const std::vector<Row> rows{
      {"log: { file: a.yaml }\n", "7:14: log.file: is \"a.yaml\", the configuration file itself"},
      {"log: { file: logs/../a.yaml }\n", "7:14: log.file: is \"logs/../a.yaml\", the config"},
      {"pid_file: ./a.yaml\n", "7:11: pid_file: is \"./a.yaml\", the configuration file itself"},
      {"pid_file: logs/x\nlog: { file: linked/x }\n",
       "8:14: log.file: is \"linked/x\", the same file as pid_file (7:11)"},
      {"pid_file: hard.log\nlog: { file: other.log }\n",
       "8:14: log.file: is \"other.log\", the same file as pid_file (7:11)"},
      {"pid_file: logs\n", "7:11: pid_file: is \"logs\", which is no regular file"},
      {"log: { file: logs }\n", "7:14: log.file: cannot log to logs: "},
      {"    apply: { nginx: { file: " + (dir_ / "a.yaml").string() + " } }\n",
       "7:29: upstreams.api.apply.nginx.file: is "},
  };
  for (const auto& [rest, error] : rows) {
    write("a.yaml", kGood + rest);
    for (const std::string command : {"check --config a.yaml", "run --single --config a.yaml"}) {
      const auto done = run(command);
      EXPECT_EQ(done.code, 1) << command << rest;
      EXPECT_NE(done.err.find("a.yaml:" + error), std::string::npos) << command << "\n" << done.err;
    }
    EXPECT_EQ(read_text(dir_ / "a.yaml"), kGood + rest);
  }
}

TEST_F(Commands, APidFileThatCannotBeMadeIsToldWithItsPlace) {
  write("a.yaml", kGood + "pid_file: missing/steelyard.pid\n");
  const auto done = run("run --single --config a.yaml");
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.err.find("a.yaml:7:11: pid_file: "), std::string::npos) << done.err;
}

TEST_F(Commands, TheSchemaIsTheOneInTheDocuments) {
  const auto done = run("check --schema");
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
  EXPECT_EQ(done.out, read_text(test::source_path("docs/config.schema.json")))
      << "write it again: steelyard check --schema > docs/config.schema.json";
  const auto schema = nlohmann::json::parse(done.out);
  EXPECT_TRUE(schema["$schema"].is_string());
  EXPECT_TRUE(schema["properties"]["upstreams"].is_object());
  EXPECT_EQ(run("check --manual").out, read_text(test::source_path("docs/configuration.md")))
      << "write it again: steelyard check --manual > docs/configuration.md";
}

TEST_F(Commands, TheExamplesAreFine) {
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("examples"))) {
    if (entry.path().extension() != ".yaml") continue;
    const auto done = run("check --strict " + entry.path().string());
    EXPECT_EQ(done.code, 0) << entry.path() << "\n" << done.err;
  }
}

TEST_F(Commands, CFG_08_NoSettingIsSilentlyIneffective) {
  struct Row {
    std::string name, tail, want;
    int code;
  };
  const std::string nodes(kNodes);
  const std::vector<Row> rows{
      {"an unknown picker", nodes + "    pick: wrrr\n",
       "f:7:11: upstreams.api.pick: unknown name \"wrrr\", known are round_robin, ", 1},
      {"a setting that does not exist", nodes + "    sticky: true\n",
       "f:7:5: upstreams.api: unknown key \"sticky\"", 1},
      {"a text as weight", "    nodes: [{ address: 127.0.0.1:1, weight: \"3x\" }]\n",
       "f:6:45: upstreams.api.nodes[0].weight: is the text \"3x\", must be a number (0 to 1000000) "
       "without quotes\n",
       1},
      {"a misspelt key", "    nodes: [{ address: 127.0.0.1:1, wieght: 3 }]\n",
       "f:6:37: upstreams.api.nodes[0]: unknown key \"wieght\", did you mean \"weight\"?\n", 1},
      {"tabs", nodes + "    health:\n\t  slow_start: 5s\n",
       "f:8:1: a tab stands in the indentation, YAML takes only spaces there\n", 1},
      {"a key twice", nodes + "    pick: p2c\n    pick: p2c\n",
       "f:8:5: upstreams.api: duplicate key \"pick\", first at 7:5\n", 1},
      {"a setting without effect", nodes + "    weigh: { controller: static, cooldown: 5s }\n",
       "f:7:44: warning: upstreams.api.weigh.cooldown: has no effect: the controller is static, "
       "weights do not move\n",
       3},
  };
  for (const auto& row : rows) {
    write("f", std::string(kHead) + row.tail);
    const auto done = run("check --strict f");
    EXPECT_EQ(done.code, row.code) << row.name;
    EXPECT_EQ(done.err.substr(0, row.want.size()), row.want) << row.name;
  }
}

TEST_F(Commands, CheckWarnsOfAPoolBelowTheLimitAtThePlaceOfTheLimit) {
  write("pool.yaml", kGood + "    limits: { max_in_flight: 100 }\nworkers: 3\n");
  const auto done = run("check --strict pool.yaml");
  EXPECT_EQ(done.code, 3);
  EXPECT_EQ(done.err,
            "pool.yaml:7:30: warning: upstreams.api.limits.max_in_flight: is 100, but 96 "
            "connections to a node are kept (32 by each of 3 workers): at the limit others are "
            "opened anew each time; pool.connections: 34 would do\n");
  EXPECT_NE(done.out.find("\npool: 96 idle connections kept to each node"), std::string::npos)
      << done.out;
}

}  // namespace
}  // namespace steelyard::cli
