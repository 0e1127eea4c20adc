#include "steelyard/io/signal.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include "steelyard/io/errors.h"

namespace steelyard::io {

namespace {

sigset_t watched() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2})
    ::sigaddset(&set, number);
  return set;
}

class SignalWatch final : public Signals, private WatchEvents {
 public:
  SignalWatch(Reactor& reactor, Fd fd, std::function<void(int)> on_signal)
      : fd_(std::move(fd)), on_signal_(std::move(on_signal)), watch_(reactor.watch(fd_, *this)) {}
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  ~SignalWatch() override = default;

 private:
  void on_ready() noexcept override {
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      on_signal_(static_cast<int>(info.ssi_signo));
    }
  }

  Fd fd_;
  std::function<void(int)> on_signal_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace

void block_signals() {
  const sigset_t set = watched();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of the write, as a full disk
}

base::Result<std::unique_ptr<Signals>> watch_signals(Reactor& reactor,
                                                     std::function<void(int)> on_signal) {
  const sigset_t set = watched();
  Fd fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd.valid()) return system_error(errno, "watch signals");
  return std::unique_ptr<Signals>(
      std::make_unique<SignalWatch>(reactor, std::move(fd), std::move(on_signal)));
}

}  // namespace steelyard::io
