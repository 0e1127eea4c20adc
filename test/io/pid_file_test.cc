#include "steelyard/io/pid_file.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "steelyard/io/process.h"

namespace steelyard::io {
namespace {

class PidFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "pid_file.XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir = pattern;
    path = dir / "x.pid";
  }
  void TearDown() override { std::filesystem::remove_all(dir); }
  void put(std::string_view text) const { std::ofstream(path) << text; }
  [[nodiscard]] std::string get() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path dir;
  std::filesystem::path path;
};

TEST_F(PidFile, IsOursUntilWeDropIt) {
  ASSERT_TRUE(claim_pid_file(path));
  EXPECT_EQ(get(), std::to_string(process_id()) + "\n");
  EXPECT_EQ(running_process(path).value(), process_id());
  EXPECT_TRUE(claim_pid_file(path)) << "our own may be claimed again";
  drop_pid_file(path);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(PidFile, AnotherProcessesFileIsLeftWhenWeEnd) {
  put("1\n");
  drop_pid_file(path);
  EXPECT_EQ(get(), "1\n");
}

TEST_F(PidFile, AStaleOneIsTakenOver) {
  put("4194303\n");  // above the usual largest id
  EXPECT_FALSE(running_process(path));
  EXPECT_TRUE(claim_pid_file(path));
}

TEST_F(PidFile, AFileThatIsNoPidFileIsLeftAlone) {
  put("my thesis\n");
  const auto claimed = claim_pid_file(path);
  ASSERT_FALSE(claimed);
  EXPECT_NE(claimed.error().text.find("is no pid file"), std::string::npos);
  EXPECT_EQ(get(), "my thesis\n");
  EXPECT_FALSE(running_process(path));
}

TEST_F(PidFile, ASignalIsNotForAStranger) {
  put("1\n");  // whatever runs as 1, it is not this test
  const auto found = running_process(path);
  ASSERT_FALSE(found);
}

// A copy of the program under another name, or one that an upgrade has replaced: the name that
// `run` gives itself tells.
TEST_F(PidFile, AProcessIsKnownByItsNameTooWhateverItsFileIsCalled) {
  const auto begin = [&](const std::string& name) {
    const auto program = dir / name;
    std::filesystem::copy_file("/bin/sleep", program);
    const int pid = ::fork();
    if (pid == 0) {
      (void)::execl(program.c_str(), program.c_str(), "60", nullptr);
      ::_exit(127);
    }
    while (program_of(pid) != program) std::this_thread::yield();
    put(std::to_string(pid) + "\n");
    return pid;
  };
  const auto end = [](int pid) {
    (void)::kill(pid, SIGKILL);
    (void)::waitpid(pid, nullptr, 0);
  };
  const int ours = begin("steelyard");
  EXPECT_EQ(running_process(path).value_or(0), ours);
  EXPECT_FALSE(claim_pid_file(path));
  (void)::kill(ours, SIGKILL);
  siginfo_t ended{};
  (void)::waitid(P_PID, static_cast<id_t>(ours), &ended, WEXITED | WNOWAIT);
  EXPECT_TRUE(claim_pid_file(path)) << "it has ended, though nobody has waited for it";
  end(ours);
  const int other = begin("other");
  EXPECT_EQ(running_process(path).value_or(0), 0);
  end(other);
}

TEST_F(PidFile, AMissingDirectoryIsSaid) {
  const auto claimed = claim_pid_file(dir / "none" / "x.pid");
  ASSERT_FALSE(claimed);
  EXPECT_NE(claimed.error().text.find("none"), std::string::npos);
}

}  // namespace
}  // namespace steelyard::io
