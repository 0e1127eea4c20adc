#include "steelyard/io/own_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "steelyard/io/errors.h"
#include "steelyard/io/file.h"

namespace steelyard::io {

std::string Ending::describe() const {
  if (signal != 0) {
    const char* const name = ::sigdescr_np(signal);
    return "was killed by signal " + std::to_string(signal) + " (" +
           (name != nullptr ? name : "unknown") + ")";
  }
  return code < 0 ? "ended" : "exited with status " + std::to_string(code);
}

base::Result<OwnProcess> OwnProcess::start(const std::vector<std::string>& arguments,
                                           const Fd& fd) {
  std::vector<char*> argv;
  for (const auto& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  // In the background of a terminal it may still write: SIGTTOU does not stop whom it cannot reach.
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  ::sigaddset(&mask, SIGTTOU);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawn_file_actions_adddup2(&actions, fd.get(), 3);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return system_error(error, "start a process");
  return OwnProcess(pid);
}

// By number: glibc 2.36's header declares these without C linkage.
OwnProcess::OwnProcess(int pid) noexcept
    : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, O_NONBLOCK))) {}

bool OwnProcess::ended(Ending& how) const noexcept {
  siginfo_t info{};
  how = {.pid = pid_};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) == 0) {
    if (info.si_pid == 0) return false;
    (info.si_code == CLD_EXITED ? how.code : how.signal) = info.si_status;
    return true;
  }
  return ::syscall(SYS_pidfd_send_signal, pidfd_.get(), 0, nullptr, 0) != 0 && errno == ESRCH;
}

void OwnProcess::kill(int number) const noexcept {
  (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

void OwnProcess::kill_thread(int thread, int number) const noexcept {
  (void)::syscall(SYS_tgkill, pid_, thread, number);
}

std::string OwnProcess::thread_name(int thread) const {
  auto text =
      read_file("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(thread) + "/comm", 64);
  if (!text) return {};
  while (text->ends_with('\n')) text->pop_back();
  return std::move(*text);
}

bool OwnProcess::stopped() const {
  const auto text = read_file("/proc/" + std::to_string(pid_) + "/stat", 4096);
  if (!text) return false;
  const auto at = text->rfind(") ");
  return at != std::string::npos && at + 2 < text->size() &&
         ((*text)[at + 2] == 'T' || (*text)[at + 2] == 't');
}

void adopt_orphans() noexcept { (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::vector<int> children() {
  const std::string self = std::to_string(::getpid());
  const auto text = read_file("/proc/" + self + "/task/" + self + "/children");
  std::vector<int> out;
  std::istringstream in(text ? *text : "");
  for (int pid = 0; in >> pid;) out.push_back(pid);
  return out;
}

std::vector<Orphan> kill_orphans(int parent, const std::vector<int>& but) {
  std::vector<Orphan> out;
  for (const int pid : children()) {
    if (std::find(but.begin(), but.end(), pid) != but.end()) continue;
    const auto text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
    const auto name = text ? text->find('(') : std::string::npos;
    const auto end = text ? text->rfind(") ") : std::string::npos;
    if (name == std::string::npos || end == std::string::npos) continue;
    std::istringstream rest(text->substr(end + 2));
    char state = 0;
    int above = 0;
    int group = 0;
    int session = 0;
    if (!(rest >> state >> above >> group >> session) || state == 'Z') continue;
    // In its parent's group it is one that was just being started.
    if (session != ::getsid(0) || (group != pid && group != parent)) continue;
    (void)::kill(group == pid ? -pid : pid, SIGKILL);
    out.push_back({pid, text->substr(name + 1, end - name - 1)});
  }
  return out;
}

int ended_child() noexcept {
  siginfo_t info{};
  const bool one = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return one ? info.si_pid : 0;
}

void reap(int pid) noexcept {
  siginfo_t info{};
  (void)::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG);
}

}  // namespace steelyard::io
