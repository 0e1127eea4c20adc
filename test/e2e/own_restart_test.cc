// What a new engine begins with after a crash, and what becomes of what the dead one had started.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/stat.h>

#include "test/e2e/own_support.h"
#include "test/integration/net.h"

namespace steelyard::e2e {
namespace {

using Json = nlohmann::json;
using integration::Socket;
using std::chrono::seconds;

class OwnRestart : public ::testing::Test {
 protected:
  std::string conf(double weight, const std::string& top = "workers: 1\n") const {
    return config({{"a", a_.port(), weight}}, "", top);
  }
  static Json process_of(const Balancer& balancer) {
    return Json::parse(balancer.get("/api/v1/process").body, nullptr, false);
  }
  // Has the engine killed, and waits for the next one.
  static void crash(Balancer& balancer, int number = SIGKILL) {
    const auto before = balancer.said(" engine_serves ");
    ASSERT_EQ(::kill(balancer.engine(), number), 0);
    ASSERT_TRUE(balancer.says(" engine_serves ", before + 1)) << balancer.log();
    ASSERT_TRUE(wait_until([&] { return balancer.get("/healthz").status == 200; }, seconds(5)));
  }
  Backend a_{"a"};
};

TEST_F(OwnRestart, F41_ACrashRunsTheLastConfigurationThatWasTaken) {
  Balancer balancer(conf(2));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  ASSERT_TRUE(balancer.reload(conf(3)));
  const auto sha = process_of(balancer)["config"]["sha256"];
  struct Row {
    const char* name;
    std::function<void()> change;
    std::string difference;
    double reload_ok;
  };
  const std::vector<Row> rows{
      {"broken", [&] { balancer.write(conf(5) + "workrs: 3\n"); },
       "is broken: " + balancer.file() + ":10:1: unknown key \"workrs\"", 0},
      {"gone", [&] { std::filesystem::remove(balancer.file()); }, "cannot be read: ", 0},
      {"changed", [&] { balancer.write(conf(5)); }, "was changed and not read since", 1},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    row.change();
    const auto kept = balancer.said(" config_kept ");
    crash(balancer);
    EXPECT_TRUE(balancer.says(" config_kept ", kept + 1)) << balancer.log();
    EXPECT_EQ(Client(balancer.port()).get("/").status, 200);
    EXPECT_EQ(balancer.node("a").base, 3);
    const auto config = process_of(balancer)["config"];
    EXPECT_EQ(config["differs_from_file"], true) << config;
    EXPECT_EQ(config["difference"].get<std::string>().find(row.difference), 0U) << config;
    EXPECT_EQ(config["sha256"], sha);
    EXPECT_EQ(balancer.metric("steelyard_config_differs"), 1);
    EXPECT_EQ(balancer.metric("steelyard_config_last_reload_successful"), row.reload_ok);
  }
  ASSERT_TRUE(balancer.reload(conf(5)));
  EXPECT_EQ(balancer.node("a").base, 5);
  EXPECT_EQ(process_of(balancer)["config"]["differs_from_file"], false);
  EXPECT_EQ(balancer.metric("steelyard_config_differs"), 0);
  crash(balancer);
  EXPECT_EQ(balancer.node("a").base, 5);
  EXPECT_EQ(balancer.said(" config_kept "), 3U) << "the file says what runs" << balancer.log();
}

TEST_F(OwnRestart, F41_WhatWasTakenOutlivesUpgradesAndSupervisors) {
  const TempDir dir;
  const auto port = free_port();
  auto text = conf(3, "workers: 1\ndrain: { idle: 100ms }\n");
  text.replace(text.find("127.0.0.1:0"), 11, "127.0.0.1:" + std::to_string(port));
  Balancer first(text);
  ASSERT_TRUE(first.up()) << first.log();
  first.process().signal(SIGUSR2);
  ASSERT_TRUE(first.says(" upgraded ")) << first.log();
  first.write("listeners: [\n");
  crash(first);
  EXPECT_EQ(first.node("a").base, 3) << first.log();
  first.process().signal(SIGKILL);
  (void)first.process().wait(seconds(5));
  ASSERT_TRUE(first.says(" supervisor_lost "));

  const std::string log = dir / "log";
  write_text(dir / "broken.yaml", text + "workrs: 1\n");
  EXPECT_EQ(run({test::binary(), "run", dir / "broken.yaml"}, log), 1);
  EXPECT_NE(read_text(log).find("broken.yaml:11:1: unknown key \"workrs\""), std::string::npos)
      << read_text(log);
  EXPECT_NE(read_text(log).find("steelyard: not started: "), std::string::npos) << read_text(log);
  EXPECT_EQ(Client(port).get("/").status, 200) << "the one that has no supervisor serves on";

  Balancer second(text);
  ASSERT_TRUE(second.up()) << second.log();
  ASSERT_TRUE(second.says(" engine_drained ")) << second.log();
  std::filesystem::remove(second.file());
  crash(second);
  EXPECT_EQ(second.node("a").base, 3) << second.log();
}

TEST_F(OwnRestart, F42_TheReasonOfACrashAndWhatComesNextAreTold) {
  Balancer balancer(conf(1));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  EXPECT_TRUE(process_of(balancer)["crashes"]["last"].is_null());
  const pid_t dead = balancer.engine();
  crash(balancer, SIGSEGV);
  const auto process = process_of(balancer);
  EXPECT_EQ(process["supervisor"]["pid"], balancer.process().pid());
  EXPECT_EQ(process["supervisor"]["connected"], true);
  EXPECT_EQ(process["engine"]["pid"], balancer.engine());
  EXPECT_EQ(process["engine"]["generation"], 2);
  EXPECT_EQ(process["lease"]["holder"], balancer.engine());
  EXPECT_EQ(process["crashes"]["total"], 1);
  EXPECT_EQ(process["crashes"]["last"]["pid"], dead);
  EXPECT_EQ(process["crashes"]["last"]["how"], "was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(process["crashes"]["next_is_held_back"], false);
  for (int i = 0; i < 4; ++i) crash(balancer);
  EXPECT_EQ(process_of(balancer)["crashes"]["next_is_held_back"], true);
  balancer.process().signal(SIGKILL);
  (void)balancer.process().wait(seconds(5));
  ASSERT_TRUE(balancer.says(" supervisor_lost "));
  EXPECT_EQ(process_of(balancer)["supervisor"]["connected"], false);
  EXPECT_EQ(::kill(balancer.engine(), SIGKILL), 0);
}

TEST_F(OwnRestart, DRN01_WhatADrainingEngineHoldsIsTold) {
  Balancer balancer(conf(1, "workers: 1\ndrain: { idle: 60s, limit: 60s }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  Client held(balancer.port());
  ASSERT_EQ(held.get("/").status, 200);
  const pid_t old = balancer.engine();
  balancer.process().signal(SIGUSR2);
  ASSERT_TRUE(balancer.says(" upgraded ")) << balancer.log();
  EXPECT_TRUE(wait_until(
      [&] {
        const auto draining = process_of(balancer)["draining"];
        return draining.size() == 1 && draining[0]["holds"].is_object() &&
               draining[0]["holds"]["connections"] == 1;
      },
      seconds(10)))
      << process_of(balancer);
  EXPECT_EQ(process_of(balancer)["draining"][0]["pid"], old);
  EXPECT_EQ(balancer.metric("steelyard_engine_draining"), 1);
  held.close();
  EXPECT_TRUE(wait_until([&] { return process_of(balancer)["draining"].empty(); }, seconds(10)));
}

// `nginx -t` that hangs, with a child of its own, and a daemon that it has started.
TEST_F(OwnRestart, F42_CommandsOfADeadEngineEndWithIt) {
  const TempDir dir;
  const std::string script = dir / "test.sh";
  // The daemon names itself once it has its session; only then the command names itself.
  write_text(script, "#!/bin/sh\n[ -e " + (dir / "begun") + " ] && exit 0\n: > " + (dir / "begun") +
                         "\nsetsid sh -c 'echo $$ > " + (dir / "daemon") +
                         "; exec sleep 600' >/dev/null 2>&1 &\nsleep 600 &\necho $! > " +
                         (dir / "child") + "\nwhile [ ! -s " + (dir / "daemon") +
                         " ]; do sleep 0.01; done\necho $$ > " + (dir / "command") + "\nwait\n");
  ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
  Balancer balancer(config({{"a", a_.port(), 1}},
                           "    apply: { nginx: { file: " + (dir / "up.conf") + ", test: [" +
                               script + "], reload: [/bin/true] } }\n",
                           "workers: 1\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const auto pid_in = [&](const char* name) { return std::atoi(read_text(dir / name).c_str()); };
  ASSERT_TRUE(wait_until([&] { return pid_in("command") > 0; }, seconds(10))) << balancer.log();
  const auto alive = [&](const char* name) {
    const auto stat = read_text("/proc/" + std::to_string(pid_in(name)) + "/stat");
    return !stat.empty() && stat.find(") Z") == std::string::npos;
  };
  ASSERT_TRUE(alive("command") && alive("child") && alive("daemon"));
  ASSERT_EQ(::kill(balancer.engine(), SIGKILL), 0);
  EXPECT_TRUE(wait_until([&] { return !alive("command") && !alive("child"); }, seconds(2)))
      << balancer.log();
  EXPECT_TRUE(alive("daemon")) << "it has left the session, so it is meant to stay";
  EXPECT_TRUE(balancer.says(" helper_killed pid=" + std::to_string(pid_in("command"))));
  EXPECT_TRUE(balancer.says(" engine_serves ", 2)) << balancer.log();
  (void)::kill(pid_in("daemon"), SIGKILL);
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0) << balancer.log();
}

// A service manager may signal each process of a service, and somebody may mean well.
TEST_F(OwnRestart, WhatEndsTheEngineIsTheSupervisorsWord) {
  NodeProcess slow("slow", {"--service", "1ms"});
  ASSERT_EQ(slow.control(R"({"hang": true})").status, 200);
  Balancer balancer(config({{"slow", slow.port(), 1}}, "", "workers: 1\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  const auto engine = balancer.engine();
  Socket waiting = Socket::connect(balancer.port());
  ASSERT_TRUE(waiting.send("GET /slow HTTP/1.1\r\nHost: q\r\n\r\n"));
  ASSERT_TRUE(
      wait_until([&] { return balancer.metric("steelyard_http_exchanges") == 1; }, seconds(5)));
  ASSERT_EQ(::kill(engine, SIGTERM), 0);
  EXPECT_TRUE(balancer.says(" signal_ignored number=15 signal=TERM ")) << balancer.log();
  ASSERT_EQ(::kill(engine, SIGUSR2), 0);
  EXPECT_TRUE(balancer.says(" signal_ignored number=12 signal=USR2 text=\"upgrade the supervisor"))
      << balancer.log();
  EXPECT_EQ(balancer.get("/readyz").status, 200);
  EXPECT_EQ(balancer.engine(), engine);

  balancer.process().signal(SIGTERM);
  ASSERT_EQ(::kill(engine, SIGTERM), 0);
  ASSERT_TRUE(balancer.says(" draining")) << balancer.log();
  ASSERT_EQ(slow.control(R"({"hang": false})").status, 200);
  const auto answer = waiting.read(false);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status(), 200);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0) << balancer.log();
  EXPECT_EQ(balancer.said(" stopping_now"), 0U);
}

TEST_F(OwnRestart, AProcessWithoutASupervisorRefusesUpgradesWithAReason) {
  const TempDir dir;
  Balancer balancer(conf(1, "workers: 1\npid_file: " + (dir / "pid") + "\n"), {"--single"});
  ASSERT_TRUE(balancer.up()) << balancer.log();
  EXPECT_EQ(run({test::binary(), "-s", "upgrade", "-c", balancer.file()}, dir / "said"), 1);
  EXPECT_NE(read_text(dir / "said").find("it runs without a supervisor (run --single)"),
            std::string::npos)
      << read_text(dir / "said");
  EXPECT_EQ(balancer.said(" signal_ignored "), 0U) << "nothing was sent";
  balancer.process().signal(SIGUSR2);
  EXPECT_TRUE(balancer.says(
      " signal_ignored number=12 signal=USR2 text=\"it runs without a supervisor (run --single)"))
      << balancer.log();
  balancer.process().signal(SIGTERM);
  EXPECT_EQ(balancer.process().wait(seconds(10)), 0) << balancer.log();
}

TEST_F(OwnRestart, ALogThatCannotBeReopenedIsToldAndGoesOnInTheOldFile) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "logs");
  Balancer balancer(conf(1, "workers: 1\nlog: { file: " + (dir / "logs/access.log") + " }\n"));
  ASSERT_TRUE(balancer.up()) << balancer.log();
  std::filesystem::rename(dir / "logs", dir / "moved");
  balancer.process().signal(SIGUSR1);
  ASSERT_TRUE(balancer.says(" reopen_failed reason=\"cannot log to ")) << balancer.log();
  EXPECT_EQ(balancer.said(" reopen "), 0U) << "that is said of success";
  EXPECT_EQ(Client(balancer.port()).get("/late").status, 200);
  EXPECT_TRUE(wait_until(
      [&] { return read_text(dir / "moved/access.log").find("/late") != std::string::npos; },
      seconds(5)));
  std::filesystem::create_directory(dir / "logs");
  balancer.process().signal(SIGUSR1);
  EXPECT_TRUE(balancer.says(" reopen text=\"the access log\"")) << balancer.log();
  EXPECT_TRUE(std::filesystem::exists(dir / "logs/access.log"));
}

}  // namespace
}  // namespace steelyard::e2e
