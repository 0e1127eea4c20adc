// Child processes: started with an argument vector, never by a shell; the result comes by callback
// on the reactor.
//
// The child gets /dev/null as input, its own process group, default signals, no descriptor but 0–2,
// and a clean environment (PATH, LANG=C, LC_ALL=C, and `environment`). Output and errors are
// captured up to `max_output` bytes each; more is read and dropped, so that the child never blocks
// on us. At the deadline the whole group is killed. A result comes when the program itself exits,
// even if a daemon it left behind keeps the pipes open. Destroying a Child kills the group, reaps
// it, and no callback follows. One thread: the reactor's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/io/reactor.h"

namespace steelyard::io {

struct ChildOptions {
  std::vector<std::string> arguments;  // [0] is the program: a path, or a name looked up in `path`
  std::vector<std::string> environment;  // "NAME=value", added to the clean environment
  std::string path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  base::Duration deadline = std::chrono::seconds(10);
  std::size_t max_output = std::size_t{64} << 10;
};

struct ChildResult {
  int exit_code = -1;      // valid when signal == 0 and !timed_out
  int signal = 0;          // that ended it
  bool timed_out = false;  // the deadline passed and the group was killed
  bool truncated = false;  // more than max_output was written
  std::string output;
  std::string errors;
  base::Duration took{};

  [[nodiscard]] bool ok() const noexcept { return exit_code == 0 && signal == 0 && !timed_out; }
  // "exited with status 1", "was killed by signal 9 (Killed)", "did not finish in 10 s and was
  // killed".
  [[nodiscard]] std::string describe() const;
};

class Child {
 public:
  virtual ~Child() = default;
  [[nodiscard]] virtual int pid() const noexcept = 0;
};

using ChildDone = std::function<void(ChildResult)>;

// A missing or non-executable program is an error here, naming it. `done` may destroy the Child.
[[nodiscard]] base::Result<std::unique_ptr<Child>> start_child(Reactor& reactor,
                                                               ChildOptions options,
                                                               ChildDone done);

}  // namespace steelyard::io
