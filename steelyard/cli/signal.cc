// steelyard -s reload|stop|quit|reopen: sends the signal to the process in the pid file.
#include <csignal>
#include <fmt/format.h>

#include "steelyard/cli/command.h"
#include "steelyard/cli/pid_file.h"
#include "steelyard/cli/source.h"
#include "steelyard/io/process.h"

namespace steelyard::cli {
namespace {

int fail(std::string_view text) {
  fmt::print(stderr, "steelyard: {}\n", text);
  return kFailure;
}

int number_of(std::string_view verb) {
  if (verb == "reload") return SIGHUP;
  if (verb == "stop") return SIGTERM;
  if (verb == "quit") return SIGQUIT;
  return verb == "reopen" ? SIGUSR1 : 0;
}

}  // namespace

int send_signal(const SignalFlags& flags) {
  const int number = number_of(flags.verb);
  if (number == 0) {
    fmt::print(stderr, "steelyard: -s knows reload, stop, quit, reopen, not \"{}\"\n", flags.verb);
    return kUsage;
  }
  const Source source = load_source(flags.config);
  if (source.document == nullptr) {
    fmt::print(stderr, "{}", source.report);
    return fail("nothing was sent: the configuration is not usable");
  }
  const std::string& file = source.document->pid_file;
  if (file.empty()) return fail(source.name + " names no pid_file");
  const auto pid = running_process(file);
  if (!pid) return fail(pid.error().describe());
  if (const auto sent = io::send_signal(*pid, number); !sent) {
    return fail(fmt::format("process {} of {}: {}", *pid, file, sent.error().describe()));
  }
  return kOk;
}

}  // namespace steelyard::cli
