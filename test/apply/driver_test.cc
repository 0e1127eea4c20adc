// The drivers on a real reactor with real files and processes, against a stand-in for Nginx.
#include "steelyard/apply/driver.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "steelyard/apply/drivers.h"
#include "steelyard/apply/nginx/plan.h"
#include "steelyard/apply/nginx/store.h"
#include "steelyard/io/epoll.h"
#include "steelyard/model/table.h"

#include "test/apply/stub_nginx.h"

namespace steelyard::apply {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Log final : Events {
  void on_event(const Event& event) noexcept override { list.push_back(event); }
  [[nodiscard]] long count(std::string_view what) const {
    return std::count_if(list.begin(), list.end(), [&](const Event& e) { return e.what == what; });
  }
  std::vector<Event> list;
};

model::TableUpstream upstream(const std::string& name, double a, double b = 100) {
  model::TableUpstream out{.name = name, .nodes = {}, .panic = false};
  out.nodes.push_back({.name = "a", .address = base::Address::loopback(8081), .weight = a});
  out.nodes.push_back({.name = "b", .address = base::Address::loopback(8082), .weight = b});
  return out;
}

model::Table table(std::uint64_t number, std::vector<model::TableUpstream> upstreams) {
  return {.number = number, .upstreams = std::move(upstreams)};
}

class Rig {
 public:
  explicit Rig(bool start = true) {
    if (start) stub.start();
  }

  StubNginx stub;
  std::unique_ptr<io::Reactor> reactor = io::make_epoll_reactor();
  Log log;
  Drivers drivers{*reactor, log};

  [[nodiscard]] NginxOptions options(const std::string& name = "api") const {
    NginxOptions out;
    out.file = stub.file(name);
    out.test = {stub.command(), "-t"};
    out.reload = {stub.command(), "-s", "reload"};
    out.pid = stub.pid_file();
    out.gap = milliseconds(100);
    out.test_timeout = milliseconds(800);
    out.verify_timeout = milliseconds(1200);
    out.watch = milliseconds(200);
    return out;
  }
  void configure(const std::vector<std::string>& names) {
    std::vector<Drivers::Target> targets;
    for (const auto& name : names) targets.push_back({name, {.nginx = options(name)}});
    const auto done = drivers.configure(targets);
    ASSERT_TRUE(done) << done.error().text;
  }
  Status status(const std::string& name = "api") { return drivers.find(name)->status(); }
  [[nodiscard]] bool until(const std::function<bool()>& done, base::Duration most = seconds(10)) {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      reactor->run_turn(reactor->now() + milliseconds(5));
    }
    return true;
  }
  void spend(base::Duration time) {
    (void)until([] { return false; }, time);
  }
  // Applied, verified and committed.
  [[nodiscard]] bool settles(const std::string& name = "api") {
    return until([&] {
      const Status s = status(name);
      return s.state == State::kApplied && s.applied_table == s.wanted_table;
    });
  }
};

TEST(NginxDriver, AppliesVerifiesAndSaysSo) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(7, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles()) << rig.status().reason;
  const Status s = rig.status();
  EXPECT_EQ(s.applied_table, 7U);
  EXPECT_EQ(s.applies, 1U);
  EXPECT_EQ(s.reloads, 1U);
  EXPECT_TRUE(s.last_success);
  ASSERT_EQ(s.nodes.size(), 2U);
  EXPECT_NEAR(s.nodes[0].intended, 1.0 / 3, 1e-9);
  EXPECT_NEAR(s.nodes[0].verified.value_or(0), 1.0 / 3, 1e-9);
  EXPECT_NEAR(s.drift, 0, 1e-9);
  EXPECT_EQ(rig.stub.loaded(), slurp(rig.stub.file()));
  EXPECT_EQ(std::filesystem::status(rig.stub.file()).permissions(), std::filesystem::perms(0640));
  rig.drivers.want(table(8, {upstream("api", 50)}));
  rig.spend(milliseconds(500));
  EXPECT_EQ(rig.stub.reloads(), 1) << "nothing changed, nothing is loaded";
  EXPECT_EQ(rig.status().applied_table, 8U);
}

TEST(NginxDriver, EveryFailureOfTheCommandsLeavesTheOldFileByteForByte) {
  struct Row {
    std::string_view name, command, mode, reason;
  };
  const std::array rows{
      Row{"the test fails", "test", "fail", "[emerg] unknown directive"},
      Row{"the test hangs", "test", "hang", "was killed"},
      Row{"the test writes without end", "test", "flood", "was killed"},
      Row{"the reload fails", "reload", "fail", "no luck"},
      Row{"the reload hangs", "reload", "hang", "no effect"},
      Row{"the reload is ignored", "reload", "ignore", "no effect"},
  };
  for (const Row& row : rows) {
    Rig rig;
    rig.configure({"api"});
    rig.drivers.want(table(1, {upstream("api", 50)}));
    ASSERT_TRUE(rig.settles()) << row.name;
    const std::string before = slurp(rig.stub.file());
    rig.stub.mode(std::string(row.command), std::string(row.mode));
    rig.drivers.want(table(2, {upstream("api", 20)}));
    ASSERT_TRUE(rig.until([&] { return rig.status().failures > 0; })) << row.name;
    ASSERT_TRUE(rig.until([&] { return slurp(rig.stub.file()) == before; }, milliseconds(500)))
        << row.name;
    EXPECT_NE(rig.status().last_error.find(row.reason), std::string::npos)
        << row.name << ": " << rig.status().last_error;
    EXPECT_EQ(rig.stub.loaded(), before) << row.name;
    EXPECT_EQ(rig.status().applied_table, 1U) << row.name;
    EXPECT_GT(rig.status().drift, 0.1) << row.name;
  }
}

TEST(NginxDriver, RunsWithTheRealStepsAgainAfterAFailure) {
  Rig rig;
  rig.configure({"api"});
  rig.stub.mode("test", "fail");
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.until([&] { return rig.status().failures == 1; }));
  EXPECT_FALSE(std::filesystem::exists(rig.stub.file())) << "there was no file before";
  rig.stub.mode("test", "ok");
  ASSERT_TRUE(rig.settles());
}

TEST(NginxDriver, TwoUpstreamsOfOneNginxShareOneReload) {
  Rig rig;
  rig.configure({"api", "web"});
  rig.drivers.want(table(1, {upstream("api", 50), upstream("web", 50)}));
  ASSERT_TRUE(rig.settles("api"));
  ASSERT_TRUE(rig.settles("web"));
  EXPECT_EQ(rig.stub.reloads(), 1);
}

TEST(NginxDriver, RefusesConfigurationsThatCannotWork) {
  Rig rig;
  const auto o = rig.options();
  auto other = rig.options("web");
  other.gap = seconds(9);
  EXPECT_FALSE(rig.drivers.configure({{"api", {o}}, {"api", {rig.options("web")}}}));
  EXPECT_FALSE(rig.drivers.configure({{"api", {o}}, {"web", {o}}}));
  const auto differ = rig.drivers.configure({{"api", {o}}, {"web", {other}}});
  ASSERT_FALSE(differ);
  EXPECT_NE(differ.error().text.find("must agree on test, reload, gap"), std::string::npos);
  EXPECT_EQ(rig.drivers.find("api"), nullptr) << "nothing was taken over";
}

TEST(NginxDriver, AReconfigurationKeepsWhatStaysAndRemovesWhatLeft) {
  Rig rig;
  rig.configure({"api", "web"});
  rig.drivers.want(table(1, {upstream("api", 50), upstream("web", 50)}));
  ASSERT_TRUE(rig.settles("api") && rig.settles("web"));
  rig.configure({"api"});
  EXPECT_EQ(rig.drivers.find("web"), nullptr);
  ASSERT_TRUE(rig.until([&] { return rig.drivers.statuses().size() == 1; }));
  EXPECT_FALSE(std::filesystem::exists(rig.stub.file("web")));
  EXPECT_EQ(rig.stub.loaded("web"), "");
  EXPECT_EQ(rig.status().state, State::kApplied);
  EXPECT_EQ(rig.stub.reloads(), 2);
  // Another gap: the lane is made anew, finds all settled and loads nothing.
  auto changed = rig.options();
  changed.gap = milliseconds(200);
  ASSERT_TRUE(rig.drivers.configure({{"api", {changed}}}));
  rig.drivers.want(table(2, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  EXPECT_EQ(rig.stub.reloads(), 2);
}

TEST(NginxDriver, ASymlinkAsTargetIsRefusedAndNotFollowed) {
  Rig rig;
  const std::string elsewhere = rig.stub.dir / "elsewhere";
  spit(elsewhere, "precious\n");
  std::filesystem::create_symlink(elsewhere, rig.stub.file());
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.until([&] { return rig.status().state == State::kRefused; }));
  EXPECT_NE(rig.status().reason.find("symbolic link"), std::string::npos) << rig.status().reason;
  EXPECT_EQ(slurp(elsewhere), "precious\n");
}

TEST(NginxDriver, AHostileNameNeverReachesTheFile) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  const std::string before = slurp(rig.stub.file());
  auto hostile = upstream("api", 20);
  hostile.nodes[0].name = "a; } $(touch /tmp/owned)";
  rig.drivers.want(table(2, {hostile}));
  rig.spend(milliseconds(300));
  EXPECT_EQ(slurp(rig.stub.file()), before);
  EXPECT_EQ(rig.status().state, State::kFailed);
  EXPECT_NE(rig.status().reason.find("node \"a; } $(touch"), std::string::npos);
  EXPECT_EQ(rig.log.count("quarantined"), 1);
}

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
    o.watch = milliseconds(20);
    return o;
  }();
  const auto drive = [&](unsigned rounds, bool report) {
    auto reactor = io::make_epoll_reactor();
    Log log;
    Drivers drivers(*reactor, log);
    if (!drivers.configure({{"api", {options}}})) return 2;
    const auto end = std::chrono::steady_clock::now() + seconds(20);
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
  const auto from = std::chrono::steady_clock::now();
  rig.drivers.want(table(2, {upstream("api", 20)}));
  ASSERT_TRUE(rig.until([&] { return rig.status().failures > 0; }));
  EXPECT_LT(std::chrono::steady_clock::now() - from, seconds(10));
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
  ASSERT_TRUE(rig.until([&] { return rig.log.count("edited") == 1; }, milliseconds(2000)));
  ASSERT_TRUE(rig.settles());
  rig.spend(milliseconds(1500));
  EXPECT_EQ(slurp(rig.stub.file()), before);
  EXPECT_EQ(rig.log.count("edited"), 1);
  EXPECT_EQ(rig.stub.reloads(), 2);
}

TEST(Cases, DRV_20_CrashingWorkersAreRolledBackAndNotAppliedAgain) {
  Rig rig;
  auto o = rig.options();
  o.watch = seconds(3);
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

// Runs `body` in a child process, so that it may give up rights or make mounts of its own; its
// result is the exit code.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// Mounts of one's own: as root, or as root of a user namespace.
bool own_mounts() {
  const bool own =
      ::geteuid() == 0 ? ::unshare(CLONE_NEWNS) == 0 : ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
  return own && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

TEST(Cases, DRV_08_AMountedFileIsSaidAndInPlaceWritesIt) {
  TempDir dir;
  const std::string host = dir / "host.conf";
  const std::string target = dir / "api.conf";
  spit(host, "");
  spit(target, "");
  std::string said;
  const std::string said_file = dir / "said";
  const int result = in_child([&] {
    if (!own_mounts()) return 10;
    if (::mount(host.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) return 11;
    nginx::Store renaming;
    renaming.add(target, false);
    const auto refused = renaming.perform({.what = nginx::Do::kCheck, .target = target});
    spit(said_file, refused.error);
    if (refused.ok) return 12;
    nginx::Store in_place;
    in_place.add(target, true);
    using nginx::Do;
    for (const auto& action :
         {nginx::Action{.what = Do::kCheck, .target = target},
          {.what = Do::kMark, .target = target, .text = ""},
          {.what = Do::kStage, .target = target, .text = "new\n"},
          {.what = Do::kInstall, .target = target, .text = "new\n", .expect = ""},
          {.what = Do::kCommit, .target = target, .text = "new\n"},
          {.what = Do::kForget, .target = target}}) {
      const auto out = in_place.perform(action);
      if (!out.ok || out.changed) {
        spit(said_file, out.error);
        return 20 + static_cast<int>(action.what);
      }
    }
    return slurp(host) == "new\n" ? 0 : 13;
  });
  said = slurp(said_file);
  EXPECT_EQ(result, 0) << said;
  EXPECT_NE(said.find("mount point"), std::string::npos) << said;
  EXPECT_NE(said.find("in_place"), std::string::npos) << "names the way out: " << said;
}

TEST(Cases, DRV_09_EachMissingRightIsNamedWithPathUserAndNeed) {
  struct Row {
    std::string_view name;
    std::function<bool(const std::string& dir)> spoil;  // in the child
    std::vector<std::string> says;
  };
  const auto nobody = [] {
    return ::geteuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0);
  };
  const std::array rows{
      Row{"directory not writable",
          [&](const std::string& dir) { return ::chmod(dir.c_str(), 0555) == 0 && nobody(); },
          {"api.conf", "user", "right"}},
      Row{"read-only file system",
          [&](const std::string& dir) {
            return own_mounts() && ::mount("t", dir.c_str(), "tmpfs", 0, "size=64k") == 0 &&
                   ::mount("t", dir.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
          },
          {"api.conf", "ead-only"}},
      Row{"directory missing",
          [&](const std::string& dir) { return ::rename(dir.c_str(), (dir + ".x").c_str()) == 0; },
          {"api.conf", "No such file"}},
  };
  for (const Row& row : rows) {
    TempDir dir;
    const std::string conf = dir / "conf";
    std::filesystem::create_directory(conf);
    spit(dir / "said", "");
    std::filesystem::permissions(dir / "said", std::filesystem::perms(0666));
    const int result = in_child([&] {
      if (!row.spoil(conf)) return 10;
      auto reactor = io::make_epoll_reactor();
      Log log;
      Drivers drivers(*reactor, log);
      NginxOptions o;
      o.file = conf + "/api.conf";
      if (!drivers.configure({{"api", {o}}})) return 11;
      drivers.want(table(1, {upstream("api", 1)}));
      const auto end = std::chrono::steady_clock::now() + seconds(5);
      while (std::chrono::steady_clock::now() < end) {
        reactor->run_turn(reactor->now() + milliseconds(5));
        const Status s = drivers.find("api")->status();
        if (s.state == State::kRefused) {
          spit(dir / "said", s.reason);
          return 0;
        }
      }
      return 12;
    });
    const std::string said = slurp(dir / "said");
    EXPECT_EQ(result, 0) << row.name;
    for (const std::string& word : row.says) {
      EXPECT_NE(said.find(word), std::string::npos) << row.name << ": " << said;
    }
  }
}

TEST(Cases, DRV_09_AFullDiskFailsTheApplyAndLeavesTheOldFile) {
  TempDir dir;
  const std::string said_file = dir / "said";
  const std::string conf = dir / "conf";
  std::filesystem::create_directory(conf);
  const int result = in_child([&] {
    if (!own_mounts()) return 10;
    if (::mount("t", conf.c_str(), "tmpfs", 0, "size=64k") != 0) return 11;
    const std::string file = conf + "/api.conf";
    spit(file, "old\n");
    nginx::Store store;
    store.add(file, false);
    using nginx::Do;
    if (!store.perform({.what = Do::kMark, .target = file, .text = "old\n"}).ok) return 12;
    spit(conf + "/fill", std::string(128 << 10, 'x'));
    const auto out =
        store.perform({.what = Do::kStage, .target = file, .text = std::string(8192, 'n')});
    spit(said_file, out.error);
    if (out.ok) return 13;
    return slurp(file) == "old\n" ? 0 : 14;
  });
  EXPECT_EQ(result, 0);
  EXPECT_NE(slurp(said_file).find("No space left"), std::string::npos) << slurp(said_file);
}

}  // namespace
}  // namespace steelyard::apply
