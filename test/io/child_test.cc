#include "steelyard/io/child.h"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <optional>
#include <signal.h>
#include <unistd.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/epoll.h"

#include "test/io/scratch.h"

namespace steelyard::io {
namespace {

using namespace std::chrono_literals;

class ChildTest : public testing::Test {
 protected:
  ChildResult run(ChildOptions options) {
    std::optional<ChildResult> result;
    auto child =
        start_child(*reactor, std::move(options), [&](ChildResult r) { result = std::move(r); });
    EXPECT_TRUE(child);
    if (!child) return {};
    turn_until([&] { return result.has_value(); });
    EXPECT_TRUE(result.has_value());
    return result.value_or(ChildResult{});
  }
  // The shell is the program under test here; start_child itself never uses one.
  ChildResult shell(const std::string& script, Duration deadline = 10s) {
    return run({.arguments = {"/bin/sh", "-c", script}, .deadline = deadline});
  }
  void turn_until(const std::function<bool()>& done) {
    const TimePoint give_up = steady_now() + 20s;
    reactor->run_turn(steady_now());
    while (!done() && steady_now() < give_up) reactor->run_turn(steady_now() + 20ms);
  }
  std::unique_ptr<Reactor> reactor = make_epoll_reactor();
};

TEST_F(ChildTest, TellsExitCodeOutputAndErrors) {
  const ChildResult result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.timed_out || result.truncated || result.ok());
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(result.describe(), "exited with status 3");
  EXPECT_TRUE(shell("exit 0").ok());
}

TEST_F(ChildTest, ArgumentsAreNeverReadByAShell) {
  const ChildResult result = run({.arguments = {"echo", "$(id)", "; rm -rf /tmp/x", "*"}});
  EXPECT_EQ(result.output, "$(id) ; rm -rf /tmp/x *\n");
}

TEST_F(ChildTest, AMissingProgramIsAnErrorThatNamesIt) {
  for (const std::string& name :
       {std::string("no-such-program"), std::string("/no/such/program")}) {
    const auto child =
        start_child(*reactor, {.arguments = {name}}, [](ChildResult) { ADD_FAILURE(); });
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code, base::Code::kNotFound);
    EXPECT_NE(child.error().text.find(name), std::string::npos);
  }
  const Scratch dir;
  const Fd plain(::open((dir / "plain").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  const auto child = start_child(*reactor, {.arguments = {dir / "plain"}}, [](ChildResult) {});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, base::Code::kDenied);
  EXPECT_FALSE(start_child(*reactor, {}, [](ChildResult) {}));
}

TEST_F(ChildTest, AHangingProgramIsKilledWithItsWholeGroup) {
  const Scratch dir;
  const TimePoint start = steady_now();
  const ChildResult result =
      shell("trap '' TERM; sleep 1000 & echo $! > " + (dir / "pid") + "; echo here; wait", 300ms);
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.output, "here\n");
  EXPECT_LT(steady_now() - start, 10s);
  EXPECT_NE(result.describe().find("did not finish in 0.3 s"), std::string::npos);
  int grandchild = 0;
  FILE* const file = std::fopen((dir / "pid").c_str(), "r");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fscanf(file, "%d", &grandchild), 1);
  std::fclose(file);
  // Gone, or a zombie that its new parent has not reaped yet.
  const auto dead = [&] {
    if (::kill(grandchild, 0) != 0 && errno == ESRCH) return true;
    char state = '?';
    FILE* const stat = std::fopen(("/proc/" + std::to_string(grandchild) + "/stat").c_str(), "r");
    if (stat == nullptr) return true;
    const int read = std::fscanf(stat, "%*d (%*[^)]) %c", &state);
    std::fclose(stat);
    return read == 1 && state == 'Z';
  };
  turn_until(dead);
  EXPECT_TRUE(dead());
}

TEST_F(ChildTest, HugeOutputIsCutAndDoesNotBlockTheProgram) {
  const ChildResult result =
      run({.arguments = {"/bin/sh", "-c",
                         "head -c 5000000 /dev/zero; head -c 300000 /dev/zero >&2; exit 4"},
           .max_output = 1000});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(result.truncated);
  EXPECT_EQ(result.output.size(), 1000U);
  EXPECT_EQ(result.errors.size(), 1000U);
}

TEST_F(ChildTest, EndlessOutputStillMeetsTheDeadline) {
  const ChildResult result = run({.arguments = {"yes"}, .deadline = 200ms, .max_output = 100});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.output.size(), 100U);
}

TEST_F(ChildTest, TellsTheSignalThatEndedIt) {
  const ChildResult result = shell("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_NE(result.describe().find("killed by signal 11"), std::string::npos);
}

TEST_F(ChildTest, GetsACleanEnvironmentAndNoDescriptorOfOurs) {
  ::setenv("STEELYARD_SECRET", "hidden", 1);
  const int leaky = ::open("/dev/null", O_RDONLY);  // on purpose without O_CLOEXEC
  ASSERT_GT(leaky, 2);
  const ChildResult result =
      run({.arguments = {"/bin/sh", "-c",
                         "env; ls /proc/self/fd | tr '\\n' ' '; readlink /proc/self/fd/0"},
           .environment = {"GIVEN=yes"}});
  ::close(leaky);
  ::unsetenv("STEELYARD_SECRET");
  EXPECT_EQ(result.output.find("STEELYARD_SECRET"), std::string::npos);
  EXPECT_NE(result.output.find("GIVEN=yes"), std::string::npos);
  EXPECT_NE(result.output.find("LC_ALL=C"), std::string::npos);
  EXPECT_NE(result.output.find("0 1 2 3 "), std::string::npos);  // 3 is ls's own directory
  EXPECT_EQ(result.output.find(" 4 "), std::string::npos);
  EXPECT_NE(result.output.find("/dev/null"), std::string::npos);
}

TEST_F(ChildTest, ADaemonLeftBehindDoesNotHoldTheResult) {
  const TimePoint start = steady_now();
  const ChildResult result = shell("sleep 30 & echo started", 20s);
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.output, "started\n");
  EXPECT_LT(steady_now() - start, 15s);
}

TEST_F(ChildTest, DestroyingItKillsItAndNothingIsReported) {
  auto child =
      start_child(*reactor, {.arguments = {"sleep", "1000"}}, [](ChildResult) { ADD_FAILURE(); });
  ASSERT_TRUE(child);
  const int pid = (*child)->pid();
  EXPECT_EQ(::kill(pid, 0), 0);
  child->reset();
  EXPECT_NE(::kill(pid, 0), 0);
  reactor->run_turn(steady_now());
  EXPECT_EQ(reactor->stats().watches, 0U);
  EXPECT_EQ(reactor->stats().timers, 0U);
}

TEST_F(ChildTest, TheCallbackMayDestroyTheChild) {
  std::unique_ptr<Child> child;
  bool done = false;
  auto started = start_child(*reactor, {.arguments = {"true"}}, [&](ChildResult result) {
    EXPECT_TRUE(result.ok());
    child.reset();
    done = true;
  });
  ASSERT_TRUE(started);
  child = std::move(*started);
  turn_until([&] { return done; });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace steelyard::io
