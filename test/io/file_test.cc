#include "steelyard/io/file.h"

#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/io/scratch.h"

namespace steelyard::io {
namespace {

std::string contents(const std::string& path) { return read_file(path).value_or("(unreadable)"); }

void put(const std::string& path, const std::string& text) {
  ASSERT_TRUE(replace_file(path, text));
}

// Runs `work` in a child process (its own user or mount namespace must not touch this one); true
// when it returned true.
bool apart(const std::function<bool()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(work() ? 0 : 1);
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool become_nobody() { return ::setgid(65534) == 0 && ::setuid(65534) == 0; }

bool says(const base::Result<void>& result, const std::vector<std::string>& words) {
  if (result) return false;
  for (const auto& word : words) {
    if (result.error().text.find(word) == std::string::npos) {
      std::fprintf(stderr, "no \"%s\" in: %s\n", word.c_str(), result.error().text.c_str());
      return false;
    }
  }
  return true;
}

TEST(ReadFile, GivesTheBytesUpToTheCap) {
  const Scratch dir;
  put(dir / "a", "hello");
  EXPECT_EQ(contents(dir / "a"), "hello");
  EXPECT_TRUE(read_file(dir / "a", 5));
  const auto large = read_file(dir / "a", 4);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, base::Code::kLimit);
  const auto none = read_file(dir / "b");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, base::Code::kNotFound);
  EXPECT_NE(none.error().text.find(dir / "b"), std::string::npos);
  EXPECT_FALSE(read_file(dir.path()));
}

TEST(ReadFile, DoesNotWaitForTheWriterOfAPipe) {
  std::string pattern = testing::TempDir() + "fifo.XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::string path = pattern + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto got = read_file(path);
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().text.find("it is a pipe"), std::string::npos) << got.error().text;
  std::filesystem::remove_all(pattern);
}

TEST(ReplaceFile, MakesAndReplacesWithoutLeavingAnythingBehind) {
  const Scratch dir;
  const std::string path = dir / "upstream.conf";
  ASSERT_TRUE(replace_file(path, "one", {.mode = 0640}));
  EXPECT_EQ(contents(path), "one");
  struct stat state{};
  ::stat(path.c_str(), &state);
  EXPECT_EQ(state.st_mode & 07777U, 0640U);
  const ino_t before = state.st_ino;
  ASSERT_TRUE(replace_file(path, std::string(3'000'000, 'x'), {.mode = 0600}));
  EXPECT_EQ(contents(path).size(), 3'000'000U);
  ::stat(path.c_str(), &state);
  EXPECT_EQ(state.st_mode & 07777U, 0640U);  // kept
  EXPECT_NE(state.st_ino, before);
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(ReplaceFile, RefusesWhatARenameWouldNotReplaceAsMeant) {
  const Scratch dir;
  put(dir / "real", "old");
  std::filesystem::create_symlink(dir / "real", dir / "link");
  std::filesystem::create_directory(dir / "folder");
  EXPECT_TRUE(says(replace_file(dir / "link", "new"), {dir / "link", "symbolic link"}));
  EXPECT_TRUE(says(replace_file(dir / "folder", "new"), {dir / "folder", "not a regular file"}));
  EXPECT_TRUE(says(replace_file(dir / "none/file", "new"),
                   {dir / "none/file", "No such file or directory"}));
  EXPECT_TRUE(says(replace_file(dir / "link", "new", {.in_place = true}), {"symbolic link"}));
  EXPECT_EQ(contents(dir / "real"), "old");
}

TEST(StagedFile, IsWholeBesideItsTargetAndGoesWhenNotCommitted) {
  const Scratch dir;
  put(dir / "conf", "old");
  {
    const auto staged = StagedFile::stage(dir / "conf", "new");
    ASSERT_TRUE(staged);
    EXPECT_EQ(contents(staged->path()), "new");
    EXPECT_EQ(contents(dir / "conf"), "old");
    EXPECT_EQ(std::filesystem::path(staged->path()).parent_path(), dir.path());
    EXPECT_EQ(staged->path().find(".conf", staged->path().size() - 5), std::string::npos);
  }
  EXPECT_EQ(dir.entries(), 1U);
  auto staged = StagedFile::stage(dir / "conf", "newer");
  ASSERT_TRUE(staged->commit());
  EXPECT_EQ(contents(dir / "conf"), "newer");
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(StagedFile, LeftoversOfAKilledProcessAreRemoved) {
  const Scratch dir;
  put(dir / "conf", "old");
  ASSERT_FALSE(apart([&] {  // dies between staging and committing, without destructors
    const auto staged = StagedFile::stage(dir / "conf", "never");
    ::_exit(9);
    return true;
  }));
  EXPECT_EQ(dir.entries(), 2U);
  EXPECT_EQ(contents(dir / "conf"), "old");
  ASSERT_TRUE(replace_file(dir / "conf", "new"));
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(StagedFile, ATemporaryNameThatIsASymlinkIsNotFollowed) {
  const Scratch dir;
  put(dir / "victim", "precious");
  std::filesystem::create_symlink(dir / "victim",
                                  dir / (".conf." + std::to_string(::getpid()) + ".new"));
  ASSERT_TRUE(replace_file(dir / "conf", "new"));
  EXPECT_EQ(contents(dir / "victim"), "precious");
  EXPECT_EQ(contents(dir / "conf"), "new");
}

// Root passes every permission check, so these run as nobody; without root they run as whoever we
// are.
TEST(ReplaceFile, FailuresNameThePathTheUserAndTheNeededRight) {
  const Scratch dir;
  put(dir / "conf", "old");
  ::chmod(dir.path().c_str(), 0555);
  EXPECT_TRUE(apart([&] {
    if (::geteuid() == 0 && !become_nobody()) return false;
    return says(replace_file(dir / "conf", "new"),
                {dir / "conf", "Permission denied", "user ",
                 "the right to write to the directory " + dir.path()}) &&
           says(can_replace(dir / "conf"), {"the right to write to the directory"}) &&
           contents(dir / "conf") == "old";
  }));
  ::chmod(dir.path().c_str(), 0755);
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(CanReplace, LeavesNoTrace) {
  const Scratch dir;
  put(dir / "conf", "old");
  EXPECT_TRUE(can_replace(dir / "conf"));
  EXPECT_TRUE(can_replace(dir / "not-yet"));
  EXPECT_TRUE(can_replace(dir / "conf", {.in_place = true}));
  EXPECT_EQ(contents(dir / "conf"), "old");
  EXPECT_EQ(dir.entries(), 1U);
}

// A bind-mounted single file: a clear error, or in place when that is chosen. Needs a mount
// namespace (root, or user namespaces); where neither exists, the same refusal is shown on a mount
// point that every Linux has, /proc.
TEST(Cases, DRV_08_AMountedFileIsRefusedOrWrittenInPlace) {
  EXPECT_TRUE(is_mount_point("/proc"));
  const Scratch dir;
  put(dir / "host.conf", "old");
  put(dir / "mounted.conf", "");
  EXPECT_FALSE(is_mount_point(dir / "mounted.conf"));
  EXPECT_TRUE(apart([&] {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0) return true;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    if (::mount((dir / "host.conf").c_str(), (dir / "mounted.conf").c_str(), nullptr, MS_BIND,
                nullptr) != 0) {
      return false;
    }
    return is_mount_point(dir / "mounted.conf") &&
           says(replace_file(dir / "mounted.conf", "new"),
                {dir / "mounted.conf", "mount point", "in place"}) &&
           says(can_replace(dir / "mounted.conf"), {"mount point"}) &&
           contents(dir / "host.conf") == "old" &&
           static_cast<bool>(replace_file(dir / "mounted.conf", "new", {.in_place = true})) &&
           contents(dir / "host.conf") == "new";
  }));
  EXPECT_EQ(dir.entries(), 2U);
}

TEST(RemoveFile, AFileThatIsNotThereIsSuccess) {
  const Scratch dir;
  put(dir / "a", "x");
  EXPECT_TRUE(remove_file(dir / "a"));
  EXPECT_TRUE(remove_file(dir / "a"));
  EXPECT_EQ(dir.entries(), 0U);
}

TEST(Cases, DRV_15_ASecondWriterIsRefusedByTheLockAndAStaleLockIsTakenOver) {
  const Scratch dir;
  const std::string path = dir / "steelyard.lock";
  {
    const auto first = LockFile::acquire(path, "steelyard run");
    ASSERT_TRUE(first);
    EXPECT_EQ(first->taken_over(), "");
    const auto second = LockFile::acquire(path, "steelyard run");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, base::Code::kConflict);
    EXPECT_NE(second.error().text.find(std::to_string(::getpid()) + " steelyard run"),
              std::string::npos);
    EXPECT_TRUE(apart([&] { return !LockFile::acquire(path, "another"); }));
  }
  EXPECT_EQ(contents(path), "");
  ASSERT_FALSE(apart([&] {  // dies holding it
    const auto lock = LockFile::acquire(path, "crashed one");
    ::_exit(lock ? 9 : 8);
    return true;
  }));
  const auto next = LockFile::acquire(path, "steelyard run");
  ASSERT_TRUE(next);
  EXPECT_NE(next->taken_over().find("crashed one"), std::string::npos);
  EXPECT_EQ(contents(path), std::to_string(::getpid()) + " steelyard run\n");
}

}  // namespace
}  // namespace steelyard::io
