// The program's command line as people meet it: exit codes, what goes to which stream, help,
// suggestions. Commands that end by themselves; nothing here serves traffic.
#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "test/cli/commands.h"

namespace steelyard::cli {
namespace {

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

}  // namespace
}  // namespace steelyard::cli
