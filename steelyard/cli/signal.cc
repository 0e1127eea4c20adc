// steelyard -s reload|stop|quit|reopen|upgrade: sends the signal to the process in the pid file.
#include <algorithm>
#include <array>
#include <csignal>
#include <fmt/format.h>

#include "steelyard/base/nearest.h"
#include "steelyard/cli/command.h"
#include "steelyard/cli/no_supervisor.h"
#include "steelyard/cli/source.h"
#include "steelyard/io/pid_file.h"
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
  if (verb == "upgrade") return SIGUSR2;
  return verb == "reopen" ? SIGUSR1 : 0;
}

// Why the process would pass over USR2, seen by what it was started with; empty: it would not.
std::string_view why_no_upgrade(int pid) {
  const auto words = io::arguments_of(pid);
  if (words.size() > 1 && words[1] == "engine") return kUpgradeLost;
  return std::ranges::find(words, "--single") != words.end() ? kUpgradeSingle : std::string_view();
}

}  // namespace

int send_signal(const SignalFlags& flags) {
  const int number = number_of(flags.verb);
  if (number == 0) {
    static constexpr std::array<std::string_view, 5> kVerbs{"reload", "stop", "quit", "reopen",
                                                            "upgrade"};
    const auto near = base::nearest(flags.verb, kVerbs);
    fmt::print(stderr, "steelyard: -s knows {}, not \"{}\"{}\n", fmt::join(kVerbs, ", "),
               flags.verb, near.empty() ? "" : fmt::format(", did you mean \"{}\"", near));
    return kUsage;
  }
  const Source source = load_source(flags.config);
  const bool broken = source.document == nullptr;
  if (broken) fmt::print(stderr, "{}", source.report);
  // Only a reload needs more of the file than where the process id is.
  if (broken && number == SIGHUP) {
    return fail("nothing was sent: the configuration is not usable");
  }
  const auto file = broken ? config::pid_file_in(source.text) : source.document->pid_file;
  if (file.empty()) {
    return fail(fmt::format("{} names no pid_file; kill -{} the process id of `steelyard run`",
                            source.name, number));
  }
  const auto pid = io::running_process(file);
  if (!pid) return fail(pid.error().describe());
  if (const auto why = number == SIGUSR2 ? why_no_upgrade(*pid) : ""; !why.empty()) {
    return fail(fmt::format("nothing was sent to process {} of {}: {}", *pid, file, why));
  }
  if (const auto sent = io::send_signal(*pid, number); !sent) {
    return fail(fmt::format("process {} of {}: {}", *pid, file, sent.error().describe()));
  }
  if (broken) {
    fmt::print(stderr, "steelyard: {} was sent to process {} of {}, although the file is broken\n",
               flags.verb, *pid, file);
  }
  return kOk;
}

}  // namespace steelyard::cli
