#include "steelyard/io/child.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "steelyard/io/errors.h"

namespace steelyard::io {

namespace {

struct Pipe {
  Fd read;
  Fd write;
};

base::Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error(errno, "make a pipe");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);  // our end only: a child may rely on blocking writes
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// The program's path: as given, or found in `path`.
base::Result<std::string> find_program(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return name;
  std::size_t from = 0;
  while (from <= path.size()) {
    const std::size_t to = std::min(path.find(':', from), path.size());
    std::string candidate = path.substr(from, to - from) + "/" + name;
    if (to > from && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    from = to + 1;
  }
  return base::Error{base::Code::kNotFound, base::Origin::kOperator, false,
                     "program \"" + name + "\" is not in " + path};
}

// posix_spawn's two attribute objects, destroyed together.
class SpawnSetup {
 public:
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }

  // Own group, default signals, nothing blocked, three descriptors.
  int prepare(const Pipe& output, const Pipe& errors) {
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    constexpr int kFlags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    ::posix_spawnattr_setflags(&attributes, static_cast<short>(kFlags));
    int error = ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions, output.write.get(), 1);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions, errors.write.get(), 2);
    if (error == 0) error = ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    return error;
  }

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

base::Result<pid_t> spawn(const ChildOptions& options, const Pipe& output, const Pipe& errors) {
  const auto program = find_program(options.arguments[0], options.path);
  if (!program) return program.error();
  std::vector<std::string> environment{"PATH=" + options.path, "LANG=C", "LC_ALL=C"};
  environment.insert(environment.end(), options.environment.begin(), options.environment.end());
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (const auto& word : options.arguments) argv.push_back(const_cast<char*>(word.c_str()));
  for (const auto& word : environment) envp.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  SpawnSetup setup;
  int error = setup.prepare(output, errors);
  pid_t pid = -1;
  if (error == 0) {
    error = ::posix_spawn(&pid, program->c_str(), &setup.actions, &setup.attributes, argv.data(),
                          envp.data());
  }
  if (error != 0) return system_error(error, "run \"" + *program + "\"", base::Origin::kOperator);
  return pid;
}

// By number: glibc 2.36's header declares pidfd_open without C linkage.
int open_pidfd(pid_t pid) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, O_NONBLOCK));
}

class Capture final : private WatchEvents, private TimerEvents {
 public:
  Capture(Reactor& reactor, Fd fd, std::size_t most)
      : reactor_(reactor),
        fd_(std::move(fd)),
        most_(most),
        again_(reactor.timer(*this)),
        watch_(reactor.watch(fd_, *this)) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() = default;

  void drain() noexcept { on_ready(); }
  [[nodiscard]] std::string take() { return std::move(text_); }
  [[nodiscard]] bool truncated() const noexcept { return truncated_; }

 private:
  void on_time() noexcept override { on_ready(); }

  // Takes what is there, at most kParts parts: a writer that never stops must not hold the loop.
  void on_ready() noexcept override {
    constexpr int kParts = 16;
    std::array<char, 16384> part;
    for (int i = 0; i < kParts; ++i) {
      const ssize_t got = ::read(fd_.get(), part.data(), part.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      const std::size_t room = most_ - text_.size();
      const auto size = static_cast<std::size_t>(got);
      text_.append(part.data(), std::min(size, room));
      if (size > room) truncated_ = true;
    }
    again_->at(reactor_.now());
  }

  Reactor& reactor_;
  Fd fd_;
  std::size_t most_;
  std::string text_;
  bool truncated_ = false;
  std::unique_ptr<Timer> again_;
  std::unique_ptr<Watch> watch_;
};

class ChildProcess final : public Child, private WatchEvents, private TimerEvents {
 public:
  ChildProcess(Reactor& reactor, const ChildOptions& options, pid_t pid, Fd pidfd, ChildDone done)
      : reactor_(reactor),
        pid_(pid),
        pidfd_(std::move(pidfd)),
        done_(std::move(done)),
        deadline_(options.deadline),
        started_(reactor.now()),
        timer_(reactor.timer(*this)),
        watch_(reactor.watch(pidfd_, *this)) {
    timer_->at(started_ + deadline_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() override {
    if (reaped_) return;
    ::kill(-pid_, SIGKILL);
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
    }
  }
  void capture(const ChildOptions& options, Pipe output, Pipe errors) {
    output_ = std::make_unique<Capture>(reactor_, std::move(output.read), options.max_output);
    errors_ = std::make_unique<Capture>(reactor_, std::move(errors.read), options.max_output);
  }
  [[nodiscard]] int pid() const noexcept override { return pid_; }

 private:
  void on_time() noexcept override {
    timed_out_ = true;
    ::kill(-pid_, SIGKILL);  // the pidfd reports its end
  }

  void on_ready() noexcept override {
    siginfo_t info{};
    if (reaped_ || ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 ||
        info.si_pid == 0) {
      return;
    }
    reaped_ = true;
    timer_->cancel();
    output_->drain();
    errors_->drain();
    ChildResult result;
    if (info.si_code == CLD_EXITED) {
      result.exit_code = info.si_status;
    } else {
      result.signal = info.si_status;
    }
    result.timed_out = timed_out_;
    result.truncated = output_->truncated() || errors_->truncated();
    result.output = output_->take();
    result.errors = errors_->take();
    result.took = reactor_.now() - started_;
    const ChildDone done = std::move(done_);  // it may destroy this object
    done(std::move(result));
  }

  Reactor& reactor_;
  pid_t pid_;
  Fd pidfd_;
  ChildDone done_;
  base::Duration deadline_;
  base::TimePoint started_;
  bool reaped_ = false;
  bool timed_out_ = false;
  std::unique_ptr<Capture> output_;
  std::unique_ptr<Capture> errors_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace

std::string ChildResult::describe() const {
  if (timed_out) {
    std::string number = std::to_string(base::seconds(took));
    number.erase(number.find('.') + 2);
    return "did not finish in " + number + " s and was killed";
  }
  if (signal != 0) {
    const char* const name = ::sigdescr_np(signal);
    return "was killed by signal " + std::to_string(signal) + " (" +
           (name != nullptr ? name : "unknown") + ")";
  }
  return "exited with status " + std::to_string(exit_code);
}

base::Result<std::unique_ptr<Child>> start_child(Reactor& reactor, ChildOptions options,
                                                 ChildDone done) {
  if (options.arguments.empty() || options.arguments[0].empty()) {
    return base::Error{base::Code::kInvalid, base::Origin::kOperator, false, "no program to run"};
  }
  auto output = make_pipe();
  if (!output) return std::move(output).error();
  auto errors = make_pipe();
  if (!errors) return std::move(errors).error();
  const auto pid = spawn(options, *output, *errors);
  if (!pid) return pid.error();
  Fd pidfd(open_pidfd(*pid));
  if (!pidfd.valid()) {
    const int error = errno;
    ::kill(-*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    return system_error(error, "watch the program \"" + options.arguments[0] + "\"");
  }
  auto child =
      std::make_unique<ChildProcess>(reactor, options, *pid, std::move(pidfd), std::move(done));
  child->capture(options, std::move(*output), std::move(*errors));
  return std::unique_ptr<Child>(std::move(child));
}

}  // namespace steelyard::io
