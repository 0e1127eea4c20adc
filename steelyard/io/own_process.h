// A process that runs this same program, or one that runs already: start, watch by pidfd, signal.
// Not io::Child, which captures output and kills what it owns: this one is left alive. One thread.
#pragma once

#include <string>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

struct Ending {
  int pid = 0;
  int code = -1;   // exit status, when signal is 0; -1: not our child, or not known
  int signal = 0;  // that ended it
  [[nodiscard]] std::string describe() const;
};

class OwnProcess {
 public:
  // Starts /proc/self/exe, which is this program even after its file was replaced, with `fd` as
  // descriptor 3 and nothing above. It leads a process group, so that Ctrl-C does not reach it;
  // signals that are blocked here are blocked there.
  [[nodiscard]] static base::Result<OwnProcess> start(const std::vector<std::string>& arguments,
                                                      const Fd& fd);
  explicit OwnProcess(int pid) noexcept;  // one that runs
  OwnProcess(int pid, Fd pidfd) noexcept : pid_(pid), pidfd_(std::move(pidfd)) {}

  [[nodiscard]] int pid() const noexcept { return pid_; }
  [[nodiscard]] const Fd& pidfd() const noexcept { return pidfd_; }  // readable when it has ended
  // Has it ended? Then a child is reaped.
  [[nodiscard]] bool ended(Ending& how) const noexcept;
  void kill(int number) const noexcept;
  void kill_thread(int thread, int number) const noexcept;
  [[nodiscard]] std::string thread_name(int thread) const;  // empty: it is gone
  // By SIGSTOP or a debugger.
  [[nodiscard]] bool stopped() const;

 private:
  int pid_;
  Fd pidfd_;
};

// Children of children that died become ours; one that has ended stays until it is reaped.
void adopt_orphans() noexcept;
[[nodiscard]] std::vector<int> children();  // of this process; empty when the kernel does not tell
// Kills what the process `parent`, which has ended, had started with io::Child and did not live to
// see end, each with its process group. Not killed: children in `but`, those that left this session
// (daemons), those that a command left behind in its group when it ended.
struct Orphan {
  int pid = 0;
  std::string command;
};
std::vector<Orphan> kill_orphans(int parent, const std::vector<int>& but);
[[nodiscard]] int ended_child() noexcept;  // not reaped; 0: none
void reap(int pid) noexcept;

}  // namespace steelyard::io
