// Child processes of the rigs, what a process tree uses, files and waiting.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace steelyard::rigs {

struct SpawnOptions {
  std::string output;        // file for stdout and stderr; empty: /dev/null
  unsigned long files = 0;   // limit of open files; 0: as it is
  std::string cgroup_procs;  // file to which it writes its pid before exec; empty: none
  std::string netns;         // path of a network namespace to enter; empty: ours
};

// Killed (SIGKILL) with its owner, and when the rig itself dies.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const SpawnOptions& options);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();
  void signal(int number) const;
  // Exit status, or 128 + signal; -1 when it still runs after `most`.
  [[nodiscard]] int wait(std::chrono::milliseconds most);
  [[nodiscard]] bool running() { return wait({}) < 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int result_ = -1;
};

// Runs a program to its end, output thrown away unless `output` is a file; its exit status.
[[nodiscard]] int run_program(const std::vector<std::string>& arguments,
                              const std::string& output = {},
                              std::chrono::milliseconds most = std::chrono::seconds(20));

// A process and its descendants, itself first.
[[nodiscard]] std::vector<pid_t> tree_of(pid_t root);
struct Usage {
  std::int64_t rss_kib = 0;
  // What it wrote itself. Clean pages of files count as private whenever nobody else has them
  // mapped just now, which says nothing of it.
  std::int64_t private_kib = 0;
  // Of that, in mappings of its own that it keeps out of core files: the buffers that the kernel
  // receives into (io_uring). They never move or grow; how much of them is touched follows the
  // load.
  std::int64_t buffers_kib = 0;
  std::int64_t buffers_most_kib = 0;  // as large as they are mapped
  std::size_t files = 0;
  double cpu_s = 0;
};
[[nodiscard]] Usage usage_of(pid_t root);  // of the whole tree

class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();
  [[nodiscard]] std::string operator/(std::string_view name) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

[[nodiscard]] std::string read_text(const std::string& path);
bool write_text(const std::string& path, std::string_view text);
// By rename.
bool replace_text(const std::string& path, std::string_view text);
// Asks every 5 ms until it is so or the time is over.
[[nodiscard]] bool wait_until(const std::function<bool()>& so, std::chrono::milliseconds most);
void pause(double seconds);

// One HTTP request on a connection of its own, blocking. `whole` is false, and status 0 or what the
// head said, when no whole answer came within `timeout`.
struct Answer {
  int status = 0;
  std::string head, body;
  bool whole = false;
};
[[nodiscard]] Answer ask(std::uint16_t port, std::string_view request,
                         std::chrono::milliseconds timeout = std::chrono::seconds(5),
                         const std::string& host = "127.0.0.1");
[[nodiscard]] Answer ask_get(std::uint16_t port, const std::string& path,
                             std::chrono::milliseconds timeout = std::chrono::seconds(5));
[[nodiscard]] Answer ask_post(std::uint16_t port, const std::string& path, const std::string& body,
                              const std::string& fields = {},
                              std::chrono::milliseconds timeout = std::chrono::seconds(5));

}  // namespace steelyard::rigs
