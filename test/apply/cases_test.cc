// Trouble that others had with generated Nginx files, against a stand-in for Nginx.
#include <gtest/gtest.h>

#include "steelyard/apply/nginx/plan.h"

#include "test/apply/rig.h"

namespace steelyard::apply {
namespace {

TEST(Cases, CFG_03_AllWeightsZeroKeepsTheLastGoodFileAndReportsIt) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  const std::string before = slurp(rig.stub.file());
  rig.drivers.want(table(2, {upstream("api", 0, 0)}));
  rig.spend(milliseconds(500));
  EXPECT_EQ(slurp(rig.stub.file()), before);
  EXPECT_EQ(rig.stub.reloads(), 1);
  EXPECT_EQ(rig.status().state, State::kFailed);
  EXPECT_NE(rig.status().reason.find("the last good file stays"), std::string::npos);
  rig.drivers.want(table(3, {upstream("api", 3)}));
  ASSERT_TRUE(rig.settles());
  EXPECT_NE(slurp(rig.stub.file()).find("weight=3 "), std::string::npos);
  EXPECT_EQ(rig.status().reason, "");
}

TEST(Cases, CFG_05_WithoutAnyNodeThereIsAPlaceholder) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(1, {{.name = "api", .nodes = {}, .panic = false}}));
  ASSERT_TRUE(rig.settles());
  EXPECT_NE(slurp(rig.stub.file()).find("server unix:/nonexistent "), std::string::npos);
}

TEST(Cases, CFG_07_AForeignFileIsRefusedNeverEdited) {
  const std::string foreign =
      "upstream api { # ours\r\n  server a:80 weight=2 # x;\n  check interval=3000; }\n";
  Rig rig;
  spit(rig.stub.file(), foreign);
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.until([&] { return rig.status().state == State::kRefused; }));
  rig.spend(milliseconds(1500));
  EXPECT_EQ(slurp(rig.stub.file()), foreign);
  EXPECT_EQ(rig.stub.tests() + rig.stub.reloads(), 0);
  std::filesystem::remove(rig.stub.file());
  ASSERT_TRUE(rig.settles()) << "once it is moved away, ours is written";
}

// The orchestrator as a process of its own, killed at a random moment; the file is whole at every
// moment and the next start ends settled.
TEST(Cases, DRV_01_Kill9AtAnyMomentLeavesAWholeFileAndTheNextStartRepairs) {
  StubNginx stub;
  stub.start();
  const auto options = [&] {
    NginxOptions o;
    o.file = stub.file();
    o.test = {stub.command(), "-t"};
    o.reload = {stub.command(), "-s", "reload"};
    o.pid = stub.pid_file();
    o.gap = milliseconds(100);
    o.watch = milliseconds(40);
    return o;
  }();
  const auto drive = [&](unsigned rounds, bool report) {
    auto reactor = io::make_epoll_reactor();
    Log log;
    Drivers drivers(*reactor, log);
    if (!drivers.configure({{"api", {options}}})) return 2;
    const auto end = std::chrono::steady_clock::now() + seconds(40);
    for (unsigned i = 0; rounds == 0 || i < rounds; ++i) {
      drivers.want(table(i + 1, {upstream("api", 10 + i % 50)}));
      for (;;) {
        reactor->run_turn(reactor->now() + milliseconds(1));
        const Status s = drivers.find("api")->status();
        if (s.state == State::kApplied && s.applied_table == i + 1) break;
        if (report && std::chrono::steady_clock::now() > end) return 3;
      }
    }
    return 0;
  };
  for (int kill_after = 5; kill_after < 400; kill_after += 35) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(drive(0, false));
    std::this_thread::sleep_for(milliseconds(kill_after));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (std::filesystem::exists(stub.file())) {
      const auto whole = nginx::read(slurp(stub.file()));
      EXPECT_TRUE(whole) << kill_after << " ms: " << slurp(stub.file());
    }
    const pid_t next = ::fork();
    if (next == 0) ::_exit(drive(1, true));
    int result = -1;
    ::waitpid(next, &result, 0);
    EXPECT_EQ(result, 0) << kill_after << " ms";
    // The reload command of the killed process may end after it: the master then starts workers
    // once more, and what is loaded is gone for a moment while it does.
    const auto loaded_by = std::chrono::steady_clock::now() + seconds(10);
    while (stub.loaded() != slurp(stub.file()) && std::chrono::steady_clock::now() < loaded_by) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_EQ(stub.loaded(), slurp(stub.file())) << kill_after << " ms";
    std::size_t entries = 0;
    for (const auto& e : std::filesystem::directory_iterator(stub.dir / "conf.d")) {
      const auto name = e.path().filename().string();
      entries += name != "api.conf" && name != ".api.conf.steelyard.good" &&
                         name != ".api.conf.steelyard.lock"
                     ? 1U
                     : 0U;
    }
    EXPECT_EQ(entries, 0U) << kill_after << " ms: something was left behind";
  }
}

TEST(Cases, DRV_02_SuccessIsNewWorkersNotAnExitCode) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  rig.stub.mode("reload", "ignore");
  // The default of verify_timeout, as rig.options() has it.
  ASSERT_EQ(rig.options().verify_timeout, NginxOptions().verify_timeout);
  const auto from = std::chrono::steady_clock::now();
  rig.drivers.want(table(2, {upstream("api", 20)}));
  ASSERT_TRUE(rig.until([&] { return rig.status().failures > 0; }));
  EXPECT_LT(std::chrono::steady_clock::now() - from, seconds(15));  // exactly ten in virtual time
  EXPECT_EQ(rig.status().applied_table, 1U);
}

TEST(Cases, DRV_03_ABadUpstreamKeepsItsLastVersionWhileOthersApply) {
  Rig rig;
  rig.configure({"p", "q", "r"});
  rig.drivers.want(table(1, {upstream("p", 50), upstream("q", 50), upstream("r", 50)}));
  for (const std::string name : {"p", "q", "r"}) ASSERT_TRUE(rig.settles(name));
  const std::string last = slurp(rig.stub.file("r"));
  rig.stub.mode("test", "strict");
  auto bad = upstream("r", 20);
  bad.nodes[0].name = "bad host!";  // refused by us
  rig.drivers.want(table(2, {upstream("p", 20), upstream("q", 50), bad}));
  ASSERT_TRUE(rig.settles("p"));
  EXPECT_EQ(rig.status("r").state, State::kFailed);
  EXPECT_NE(rig.status("r").reason.find("bad host!"), std::string::npos);
  bad.nodes[0].name = "bad-host";  // refused by the test command
  rig.drivers.want(table(3, {upstream("p", 30), upstream("q", 30), bad}));
  ASSERT_TRUE(rig.settles("p"));
  ASSERT_TRUE(rig.settles("q"));
  ASSERT_TRUE(rig.until([&] { return rig.status("r").failures > 0; }));
  EXPECT_EQ(slurp(rig.stub.file("r")), last);
  EXPECT_EQ(rig.stub.loaded("r"), last);
  EXPECT_NE(rig.status("r").reason.find("bad one"), std::string::npos) << rig.status("r").reason;
  rig.drivers.want(table(4, {upstream("p", 30), upstream("q", 30), upstream("r", 20)}));
  ASSERT_TRUE(rig.settles("r")) << "fixed, it joins";
}

TEST(Cases, DRV_15_ASecondOrchestratorIsRefusedAndTakesOverAfterACrash) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  Log log;
  auto second = std::make_unique<Drivers>(*rig.reactor, log);
  ASSERT_TRUE(second->configure({{"api", {rig.options()}}}));
  second->want(table(1, {upstream("api", 20)}));
  ASSERT_TRUE(rig.until([&] { return second->find("api")->status().state == State::kRefused; }));
  EXPECT_NE(second->find("api")->status().reason.find(std::to_string(::getpid())),
            std::string::npos)
      << second->find("api")->status().reason;
  EXPECT_EQ(rig.stub.reloads(), 1);
  // The first one dies (its lock goes with it); the second is tried again and takes over.
  ASSERT_TRUE(rig.drivers.configure({}));
  ASSERT_TRUE(rig.until([&] { return second->find("api")->status().state == State::kApplied; },
                        seconds(20)));
  EXPECT_NE(slurp(rig.stub.file()).find("weight=20 "), std::string::npos);
}

TEST(Cases, DRV_15_AnEditByHandIsWrittenOverOnce) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  const std::string before = slurp(rig.stub.file());
  spit(rig.stub.file(), before + "# by hand\n");
  ASSERT_TRUE(rig.until([&] { return rig.log.count("edited") == 1; }));
  ASSERT_TRUE(rig.settles());
  rig.spend(milliseconds(1500));
  EXPECT_EQ(slurp(rig.stub.file()), before);
  EXPECT_EQ(rig.log.count("edited"), 1);
  EXPECT_EQ(rig.stub.reloads(), 2);
}

TEST(Cases, DRV_20_CrashingWorkersAreRolledBackAndNotAppliedAgain) {
  Rig rig;
  auto o = rig.options();
  o.watch = seconds(8);
  ASSERT_TRUE(rig.drivers.configure({{"api", {o}}}));
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  const std::string before = slurp(rig.stub.file());
  rig.stub.mode("work", "crash");
  rig.drivers.want(table(2, {upstream("api", 66)}));
  ASSERT_TRUE(rig.until([&] { return rig.status().state == State::kStopped; }))
      << to_text(rig.status().state);
  EXPECT_EQ(slurp(rig.stub.file()), before);
  ASSERT_TRUE(rig.until([&] { return rig.stub.loaded() == before; }));
  const int reloads = rig.stub.reloads();
  rig.drivers.want(table(3, {upstream("api", 66)}));
  rig.spend(seconds(2));
  EXPECT_EQ(rig.stub.reloads(), reloads);
  EXPECT_NE(rig.status().reason.find("crashed"), std::string::npos);
}

}  // namespace
}  // namespace steelyard::apply
