// A stand-in for Nginx made of shell scripts, in a directory of its own: a master that starts and
// replaces workers with Nginx's process titles, and a command that tests and reloads it. What it
// does wrong is chosen by `mode(command, word)`.
//
//   test:   ok · fail · hang · flood (writes without end) · strict (fails when FILE says "bad")
//   reload: ok · fail · hang · ignore (exits 0, signals nobody)
//   work:   ok · crash (workers end and are replaced again and again once they run weight=66)
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace steelyard::apply {

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void spit(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "steelyard.XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

class StubNginx {
 public:
  StubNginx() {
    std::filesystem::create_directory(dir / "conf.d");
    spit(dir / "nginx", kCommand);
    spit(dir / "master", kMaster);
    for (const auto* name : {"nginx", "master"}) {
      std::filesystem::permissions(dir / name, std::filesystem::perms(0755));
    }
    mode("test", "ok");
    mode("reload", "ok");
    mode("work", "ok");
  }
  StubNginx(const StubNginx&) = delete;
  StubNginx& operator=(const StubNginx&) = delete;
  ~StubNginx() { stop(); }

  TempDir dir;

  void mode(const std::string& command, const std::string& word) {
    spit(dir / (command + ".mode"), word);
  }
  [[nodiscard]] std::string file(const std::string& name = "api") const {
    return dir / ("conf.d/" + name + ".conf");
  }
  [[nodiscard]] std::string pid_file() const { return dir / "pid"; }
  [[nodiscard]] std::string command() const { return dir / "nginx"; }
  // What the workers were started with.
  [[nodiscard]] std::string loaded(const std::string& name = "api") const {
    return slurp(dir / ("loaded/" + name + ".conf"));
  }
  [[nodiscard]] int reloads() const {
    const std::string log = slurp(dir / "reload.log");
    return static_cast<int>(std::count(log.begin(), log.end(), '\n'));
  }
  [[nodiscard]] int tests() const {
    const std::string log = slurp(dir / "test.log");
    return static_cast<int>(std::count(log.begin(), log.end(), '\n'));
  }

  void start() {
    const std::string master = dir / "master";
    const std::string where = dir.path().string();
    master_ = ::fork();
    if (master_ == 0) {
      ::setpgid(0, 0);
      const int null = ::open("/dev/null", O_RDWR);
      for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
      ::execl("/bin/bash", "nginx: master process stub", master.c_str(), where.c_str(), nullptr);
      ::_exit(127);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!std::filesystem::exists(dir / "started") && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void stop() {
    if (master_ <= 0) return;
    ::kill(-master_, SIGKILL);
    ::waitpid(master_, nullptr, 0);
    master_ = 0;
    std::filesystem::remove(dir / "pid");
    std::filesystem::remove(dir / "started");
  }

 private:
  static constexpr const char* kCommand = R"sh(#!/bin/bash
D=$(dirname "$0")
case "$1" in
-t)
  echo test >>"$D/test.log"
  case "$(cat "$D/test.mode")" in
  fail) echo "nginx: [emerg] unknown directive \"x\" in $D/other.conf:1" >&2; exit 1 ;;
  strict) if grep -rq --include="*.conf" bad "$D/conf.d"; then echo "nginx: [emerg] bad one" >&2; exit 1; fi ;;
  hang) exec sleep 1000 ;;
  flood) exec yes "nginx: more and more" ;;
  esac
  echo "syntax is ok" >&2 ;;
-s)
  date +%s.%N >>"$D/reload.log"
  case "$(cat "$D/reload.mode")" in
  fail) echo "nginx: [error] no luck" >&2; exit 1 ;;
  hang) exec sleep 1000 ;;
  ignore) ;;
  *) kill -HUP "$(cat "$D/pid")" ;;
  esac ;;
esac
)sh";
  static constexpr const char* kMaster = R"sh(D=$1
workers=()
spawn() { (trap - HUP; exec -a "nginx: worker process" sleep 1000) & workers+=($!); }
start() {
  rm -rf "$D/loading"; cp -r "$D/conf.d" "$D/loading"; rm -rf "$D/loaded"; mv "$D/loading" "$D/loaded"
  workers=(); spawn; spawn
}
again=0
trap 'again=1' HUP
start
echo $$ >"$D/pid"
touch "$D/started"
while :; do
  sleep 0.05 &
  wait $!
  if [ $again = 1 ]; then
    again=0; old=("${workers[@]}"); start; sleep 0.05; kill "${old[@]}"
  elif [ "$(cat "$D/work.mode")" = crash ] && grep -rq weight=66 "$D/loaded"; then
    kill "${workers[@]}"; workers=(); spawn; spawn
  fi
done
)sh";

  pid_t master_ = 0;
};

}  // namespace steelyard::apply
