// The supervisor's way into another program: what crosses the exec, and the exec itself.
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/errors.h"
#include "steelyard/io/failpoint.h"
#include "steelyard/supervise/reason.h"
#include "steelyard/supervise/supervisor.h"

namespace steelyard::supervise {
namespace {

constexpr std::string_view kFirstLine = "steelyard-handover 2";

void inherit(const std::vector<int>& fds, bool yes) noexcept {
  for (const int fd : fds) (void)::fcntl(fd, F_SETFD, yes ? 0 : FD_CLOEXEC);
}

io::Fd owned(int fd) noexcept {
  inherit({fd}, false);
  return io::Fd(fd);
}

}  // namespace

void Supervisor::check_program() {
  if (stopping_) return;
  if (check_ != nullptr || in(Engine::Phase::kStarting) != nullptr) {
    const auto* const why = check_ != nullptr
                                ? "the program of the last upgrade has not answered yet"
                                : "an engine is being started";
    return events_.on_event("upgrade_refused", {{"reason", why}});
  }
  events_.on_event("upgrading", {{"program", options_.program}});
  io::failpoint("upgrade", "asked");
  std::vector<std::string> arguments = options_.check_arguments;
  arguments.insert(arguments.begin(), options_.program);
  auto started = io::start_child(
      reactor_, {.arguments = std::move(arguments)}, [this](const io::ChildResult& result) {
        check_.reset();
        if (result.ok() && result.output == options_.check_answer) return replace_program();
        upgrade_failed(result.ok() ? "another version of the channel: " + result.output
                                   : options_.program + " " + result.describe());
      });
  if (!started) return upgrade_failed(started.error().describe());
  check_ = std::move(*started);
}

void Supervisor::upgrade_failed(std::string_view reason) {
  ++status_.failed_upgrades;
  status_.upgrade_failure = shortened(reason);
  status_.upgrade_failed = io::unix_now();
  status_.upgrading = false;
  events_.on_event("upgrade_failed", {{"reason", status_.upgrade_failure},
                                      {"text", "the engine that served before goes on"}});
  tell_status();
}

// Returns only when the exec has failed.
void Supervisor::replace_program() {
  std::vector<int> fds;
  const std::string text = handover(fds);
  const io::Fd memory(::memfd_create("steelyard-handover", MFD_CLOEXEC));
  if (!memory.valid() ||
      ::write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return upgrade_failed(io::system_error(errno, "write the handover").describe());
  }
  fds.push_back(memory.get());
  std::vector<std::string> arguments = options_.run_arguments;
  arguments.push_back(std::to_string(memory.get()));
  std::vector<char*> argv;
  for (const auto& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  io::failpoint("upgrade", "checked");
  inherit(fds, true);
  ::execve(options_.program.c_str(), argv.data(), environ);
  const int error = errno;
  inherit(fds, false);
  upgrade_failed(io::system_error(error, "run " + options_.program).describe());
}

std::string Supervisor::handover(std::vector<int>& fds) const {
  std::ostringstream out;
  const auto pass = [&](const io::Fd& fd) {
    fds.push_back(fd.get());
    return fd.get();
  };
  out << kFirstLine << "\nstate " << pass(state_->fd()) << "\nconfig " << pass(config_->fd())
      << "\nworkers " << workers_ << "\nstatus " << status_.to_text() << "\n";
  if (!pid_file_.empty()) out << "pid_file " << pid_file_ << "\n";
  for (const auto& address : kept_) out << "kept " << address.to_text() << "\n";
  sockets_.each([&](const base::Address& address, unsigned worker, const io::Fd& fd) {
    out << "socket " << pass(fd) << " " << worker << " " << address.to_text() << "\n";
  });
  for (const auto& engine : engines_) {
    out << "engine " << engine->process.pid() << " " << pass(engine->process.pidfd()) << " "
        << pass(engine->channel.fd()) << " " << pass(engine->heartbeat.fd()) << " "
        << engine->generation << " " << (engine->phase == Engine::Phase::kServing) << " "
        << (engine.get() == holder_) << " " << engine->draining_since << "\n";
  }
  return out.str();
}

base::Result<void> Supervisor::take_handover(const std::string& text) {
  const auto bad = [](std::string why) {
    return base::Error{base::Code::kInvalid, base::Origin::kUs, false, "handover: " + why};
  };
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kFirstLine) return bad("not of this version");
  while (std::getline(lines, line)) {
    const auto blank = line.find(' ');
    const std::string word = line.substr(0, blank);
    const std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
    std::istringstream in(rest);
    int fd = -1;
    if ((word == "state" || word == "config") && in >> fd) {
      auto memory = io::StateMemory::attach(owned(fd));
      if (!memory) return std::move(memory).error();
      auto& to = word == "state" ? state_ : config_;
      to = std::make_unique<io::StateMemory>(std::move(*memory));
    } else if (word == "workers") {
      in >> workers_;
    } else if (word == "status") {
      if (const auto status = io::ProcessStatus::parse(rest)) status_ = *status;
    } else if (word == "pid_file") {
      pid_file_ = rest;
    } else if (word == "kept") {
      for (const auto& address : io::addresses_of(rest)) kept_.push_back(address);
    } else if (unsigned worker = 0; word == "socket" && in >> fd >> worker) {
      const auto address = base::Address::parse(rest.substr(rest.rfind(' ') + 1), /*any=*/true);
      if (!address) return address.error();
      sockets_.put(*address, worker, owned(fd));
    } else if (int pid = 0, pidfd = -1, heart = -1; word == "engine") {
      std::uint64_t generation = 0;
      bool serving = false;
      bool holder = false;
      std::int64_t since = 0;
      if (!(in >> pid >> pidfd >> fd >> heart >> generation >> serving >> holder >> since)) {
        return bad(line);
      }
      auto heartbeat = io::Heartbeat::attach(owned(heart));
      if (!heartbeat) return std::move(heartbeat).error();
      add(io::OwnProcess(pid, owned(pidfd)), io::Channel(owned(fd)), std::move(*heartbeat));
      Engine& engine = *engines_.back();
      engine.generation = generation;
      engine.draining_since = since;
      engine.phase = serving ? Engine::Phase::kServing : Engine::Phase::kDraining;
      if (holder) holder_ = &engine;
    } else {
      return bad(line);
    }
  }
  for (const auto when : status_.recent_crashes) {
    crash_times_.push_back(reactor_.now() - std::chrono::seconds(io::unix_now() - when));
  }
  served_ = status_.upgrading = true;
  return {};
}

}  // namespace steelyard::supervise
