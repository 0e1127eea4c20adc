// What happens without rights, space or a rename: in child processes with mounts of their own.
#include <array>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "steelyard/apply/nginx/store.h"

#include "test/apply/rig.h"

namespace steelyard::apply {
namespace {

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
