// The program's command line as people meet it: exit codes, what goes to which stream, help,
// suggestions. Commands that end by themselves; nothing here serves traffic.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <vector>

#include "test/paths.h"

namespace steelyard::cli {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Outcome {
  int code = -1;
  std::string out, err;
};

class Commands : public ::testing::Test {
 protected:
  Commands() {
    std::string name = (std::filesystem::temp_directory_path() / "steelyard-cli.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    dir_ = name;
  }
  ~Commands() override { std::filesystem::remove_all(dir_); }

  // `arguments` as a shell reads them; `before` are assignments of the environment.
  Outcome run(const std::string& arguments, const std::string& before = "") const {
    const std::string command = "cd " + dir_.string() + " && " + before + " timeout 20 " +
                                test::binary() + " " + arguments + " >out 2>err </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(dir_ / "out"),
            read_text(dir_ / "err")};
  }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(dir_ / name) << text;
  }

  std::filesystem::path dir_;
};

constexpr std::string_view kHead =
    "listeners:\n  - address: 127.0.0.1:8080\n    routes: [{ upstream: api }]\nupstreams:\n"
    "  api:\n";
constexpr std::string_view kNodes = "    nodes: [127.0.0.1:8081, 127.0.0.1:8082]\n";
const std::string kGood = std::string(kHead) + std::string(kNodes);

TEST_F(Commands, ExitCodesTellUseFromConfigurationFromSuccess) {
  write("good.yaml", kGood);
  write("bad.yaml", kGood + "workrs: 1\n");
  write("warned.yaml", kGood + "    weigh: { controller: static, cooldown: 5s }\n");
  struct Row {
    std::string arguments;
    int code;
  };
  const std::vector<Row> rows{{"--version", 0},
                              {"-v", 0},
                              {"-V", 0},
                              {"--version --verbose", 0},
                              {"--help", 0},
                              {"", 2},
                              {"check good.yaml", 0},
                              {"check -c good.yaml", 0},
                              {"-c good.yaml check", 0},
                              {"check --quiet good.yaml", 0},
                              {"check bad.yaml", 1},
                              {"check missing.yaml", 1},
                              {"run bad.yaml", 1},
                              {"run missing.yaml", 1},
                              {"check warned.yaml", 0},
                              {"check --strict warned.yaml", 3},
                              {"-t -c good.yaml", 0},
                              {"-t -q -c good.yaml", 0},
                              {"-t -c bad.yaml", 1},
                              {"chek good.yaml", 2},
                              {"check --strickt good.yaml", 2},
                              {"check good.yaml extra.yaml", 2},
                              {"run --listen :8080", 2},
                              {"run --workers 0 good.yaml", 2},
                              {"run --workers 1025 good.yaml", 2},
                              {"run --workers many good.yaml", 2},
                              {"run --io kqueue good.yaml", 2},
                              {"run --to 127.0.0.1", 1},
                              {"run --to 127.0.0.1:1 --admin 192.0.2.1:1", 1},
                              {"demo --seconds 1", 2},
                              {"node --cores 0", 2},
                              {"node --service soon", 1},
                              {"node --listen nowhere", 1},
                              {"key", 2},
                              {"-s reload -c good.yaml", 1},
                              {"-s dance -c good.yaml", 2}};
  for (const auto& row : rows) {
    const auto done = run(row.arguments);
    EXPECT_EQ(done.code, row.code) << row.arguments << "\n" << done.out << done.err;
    if (row.code == 1 || (row.code == 2 && !row.arguments.empty())) {
      EXPECT_FALSE(done.err.empty()) << row.arguments << ": says why, on stderr";
      EXPECT_EQ(done.out, "") << row.arguments;
    }
  }
}

TEST_F(Commands, AnUnknownCommandGetsTheNearestOne) {
  EXPECT_EQ(run("chek x.yaml").err,
            "steelyard: there is no command \"chek\", did you mean \"check\"; see steelyard "
            "--help\n");
  EXPECT_NE(run("rnu").err.find("did you mean \"run\""), std::string::npos);
  EXPECT_EQ(run("zzzzzz").err, "steelyard: there is no command \"zzzzzz\"; see steelyard --help\n");
}

TEST_F(Commands, EveryHelpFitsAScreenAndHasAnExample) {
  for (const std::string command : {"", "run", "check", "demo", "node", "key", "key new"}) {
    SCOPED_TRACE(command);
    for (const std::string flag : {"--help", "-h"}) {
      const auto done = run(command + " " + flag);
      EXPECT_EQ(done.code, 0);
      EXPECT_EQ(done.err, "");
      EXPECT_LE(std::count(done.out.begin(), done.out.end(), '\n'), 30);
      EXPECT_NE(done.out.find("Example"), std::string::npos) << done.out;
      std::istringstream lines(done.out);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 120U) << line;
        EXPECT_EQ(std::count_if(line.begin(), line.end(), [](char c) { return c < 0; }), 0)
            << "columns are padded by bytes: " << line;
        for (const std::string_view inside : {"TEXT", "UINT", ":INT", "FLOAT", "REQUIRED"}) {
          EXPECT_EQ(line.find(inside), line.npos) << "a word of the parser's: " << line;
        }
      }
    }
  }
}

TEST_F(Commands, TheHelpOfRunTellsItsDefaultsAndTheFilesRanges) {
  const auto help = run("run --help").out;
  EXPECT_NE(help.find("(default 127.0.0.1:8080)"), std::string::npos) << help;
  EXPECT_NE(help.find("1 to 1024"), std::string::npos) << "as workers of the file";
  const auto node = run("node --help").out;
  for (const std::string_view word : {"--listen ADDRESS", "--service DURATION", "--cores NUMBER"}) {
    EXPECT_NE(node.find(word), std::string::npos) << node;
  }
}

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

TEST_F(Commands, ASignalNeedsNoMoreOfTheFileThanThePidFile) {
  write("bad.yaml", kGood + "workrs: 1\npid_file: x.pid\n");
  write("x.pid", "1\n");
  const auto reload = run("-s reload -c bad.yaml");
  EXPECT_EQ(reload.code, 1);
  EXPECT_NE(reload.err.find("nothing was sent: the configuration is not usable"),
            std::string::npos);
  for (const std::string verb : {"stop", "quit", "reopen", "upgrade"}) {
    const auto done = run("-s " + verb + " -c bad.yaml");
    EXPECT_NE(done.err.find("x.pid does not hold a process id"), std::string::npos) << done.err;
  }
  write("none.yaml", kGood + "workrs: 1\n");
  EXPECT_NE(run("-s stop -c none.yaml").err.find("names no pid_file; kill -15 the process id"),
            std::string::npos);
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

TEST_F(Commands, AWrongWordOrNodeIsToldWithWhatWouldBeRight) {
  struct Row {
    std::string arguments, error;
  };
  const std::vector<Row> rows{
      {"run --io foo", "--io: must be one of auto, uring, epoll, not \"foo\"; see"},
      {"run --io epol", "not \"epol\", did you mean \"epoll\"; see"},
      {"-s relod", "not \"relod\", did you mean \"reload\""},
      {"run --to ,,,", "--to: has an entry that is empty"},
      {"run --to 127.0.0.1:1,,127.0.0.1:2", "--to: has an entry that is empty"},
      {"run --to 127.0.0.1:1 good.yaml", "nodes in --to and the file \"good.yaml\""},
      {"run --to 127.0.0.1:1 --listen 127.0.0.1:1,127.0.0.1:2",
       "a port (names are not resolved); --listen takes one, a configuration file takes more\n"
       "steelyard: not started: --listen cannot be used"},
      {"run --to 127.0.0.1", "not started: --to cannot be used"},
      {"run --to 0.0.0.0:80", "--to: is 0.0.0.0:80, which stands for every address"},
  };
  for (const auto& [arguments, error] : rows) {
    const auto done = run(arguments);
    EXPECT_NE(done.code, 0) << arguments;
    EXPECT_NE(done.err.find(error), std::string::npos) << arguments << "\n" << done.err;
  }
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

TEST_F(Commands, AKeyIsShownOnceAndItsHashIsWhatTheConfigurationTakes) {
  const auto made = run("key new --name alice");
  EXPECT_EQ(made.code, 0);
  ASSERT_EQ(made.out.substr(0, 3), "sy_");
  EXPECT_EQ(made.out.size(), 3U + 48U + 1U);
  EXPECT_EQ(made.err.find(made.out.substr(0, 20)), std::string::npos);
  const auto from = made.err.find("- { name: alice, sha256: ");
  ASSERT_NE(from, std::string::npos) << made.err;
  write("keyed.yaml", kGood + "admin:\n  keys:\n    " + made.err.substr(from));
  EXPECT_EQ(run("check --strict keyed.yaml").code, 0) << run("check keyed.yaml").err;
  EXPECT_NE(run("key new").out, made.out);
}

TEST_F(Commands, TheHabitsOfNginxKeepTheirWords) {
  write("good.yaml", kGood);
  EXPECT_EQ(run("-t -c good.yaml").err,
            "steelyard: the configuration file good.yaml syntax is ok\n"
            "steelyard: configuration file good.yaml test is successful\n");
  write("bad.yaml", kGood + "workrs: 1\n");
  const auto bad = run("-t -c bad.yaml");
  EXPECT_NE(bad.err.find("bad.yaml:7:1: unknown key \"workrs\", did you mean \"workers\"?\n"),
            std::string::npos);
  EXPECT_NE(bad.err.find("steelyard: configuration file bad.yaml test failed\n"),
            std::string::npos);
  EXPECT_NE(run("-s reload -c good.yaml").err.find("names no pid_file"), std::string::npos);
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

TEST_F(Commands, AnUnknownOptionGetsTheNearestOneOfItsCommand) {
  const auto said = [&](const std::string& arguments) { return run(arguments).err; };
  EXPECT_EQ(said("run --ioo epoll x.yaml"),
            "steelyard: there is no option \"--ioo\", did you mean \"--io\"; see steelyard run "
            "--help\n");
  EXPECT_EQ(said("check --manul"),
            "steelyard: there is no option \"--manul\", did you mean \"--manual\"; see steelyard "
            "check --help\n");
  EXPECT_EQ(said("key new --nam=ops"),
            "steelyard: there is no option \"--nam\", did you mean \"--name\"; see steelyard key "
            "--help\n");
  EXPECT_EQ(said("--versoin"),
            "steelyard: there is no option \"--versoin\", did you mean \"--version\"; see "
            "steelyard --help\n");
  EXPECT_EQ(said("run --zzzz"),
            "steelyard: there is no option \"--zzzz\"; see steelyard run --help\n");
  EXPECT_EQ(said("run --resum").find("did you mean"), std::string::npos) << "hidden";
}

TEST_F(Commands, SmallThingsAreSaidRight) {
  write("one.yaml", kGood + "    weigh: { controller: static, cooldown: 5s }\n");
  EXPECT_NE(run("check one.yaml").out.find("one.yaml: fine, 1 warning\n"), std::string::npos);
  const auto help = run("key --help").out;
  EXPECT_NE(help.find("steelyard key new"), std::string::npos);
  EXPECT_EQ(help.find("steelyard run"), std::string::npos) << help;
  const auto version = run("--version --verbose").out;
  EXPECT_TRUE(version.find("compiler: GCC ") != std::string::npos ||
              version.find("lang ") != std::string::npos)
      << version;
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
