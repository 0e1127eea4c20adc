// steelyard run: the supervisor, which keeps an engine serving; or one engine in this process.
//
//   HUP reload · TERM, INT drain and stop, a second time stop now · QUIT drain without limit ·
//   USR1 reopen log files · USR2 upgrade
#include <fmt/format.h>

#include "steelyard/cli/command.h"
#include "steelyard/cli/engine_runner.h"
#include "steelyard/cli/log.h"
#include "steelyard/io/backend.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/process.h"
#include "steelyard/io/signal.h"
#include "steelyard/io/thread.h"
#include "steelyard/supervise/supervisor.h"

namespace steelyard::cli {
namespace {

int fail(std::string_view text) {
  fmt::print(stderr, "steelyard: {}\n", text);
  return kFailure;
}

class Told final : public supervise::Supervisor::Events {
 public:
  void on_event(std::string_view what, supervise::Supervisor::Fields fields) noexcept override {
    log_.event(what, fields);
  }

 private:
  Log log_{2};
};

// The flags as an argument vector again, for processes that are to do the same.
std::vector<std::string> words_of(const RunFlags& flags, std::string_view command) {
  std::vector<std::string> out{flags.program, std::string(command)};
  const auto add = [&](std::string_view flag, std::string value) {
    if (value.empty()) return;
    out.emplace_back(flag);
    out.push_back(std::move(value));
  };
  add("--config", flags.config.file);
  add("--listen", flags.config.listen);
  add("--to", fmt::format("{}", fmt::join(flags.config.to, ",")));
  add("--workers", flags.workers == 0 ? "" : fmt::format("{}", flags.workers));
  add("--io", flags.io ? std::string(io::to_text(*flags.io)) : "");
  add("--admin", flags.admin);
  return out;
}

int run_single(const RunFlags& flags) {
  io::block_signals();
  const auto reactor = io::make_epoll_reactor();
  const auto provider = io::make_local_provider();
  EngineRunner runner(flags, *reactor, *provider, nullptr);
  const int code = runner.run();
  if (code == kOk) Log(2).event("stopped", {});
  return code;
}

}  // namespace

int run(const RunFlags& flags) {
  io::name_this_thread("steelyard");  // `-s` knows the process by it, whatever its file is called
  if (flags.single) return run_single(flags);
  (void)io::raise_descriptor_limit();  // one socket a worker and address
  io::block_signals();
  const auto reactor = io::make_epoll_reactor();
  Told told;
  supervise::Options options{.program = io::find_program(flags.program),
                             .engine_arguments = words_of(flags, "engine"),
                             .run_arguments = words_of(flags, "run"),
                             .check_arguments = {"engine", "--protocol"},
                             .check_answer = engine_protocol()};
  options.engine_arguments.insert(options.engine_arguments.end(), {"--channel", "3"});
  options.run_arguments.emplace_back("--resume");
  supervise::Supervisor supervisor(*reactor, std::move(options), told);
  const auto signals =
      io::watch_signals(*reactor, [&](int number) { supervisor.on_signal(number); });
  if (!signals) return fail(signals.error().describe());
  const auto started =
      flags.resume >= 0 ? supervisor.resume(io::Fd(flags.resume)) : supervisor.start();
  if (!started) return fail(started.error().describe());
  while (!supervisor.finished()) reactor->run_turn(base::TimePoint::max());
  if (supervisor.exit_code() == kOk) told.on_event("stopped", {});
  return supervisor.exit_code();
}

}  // namespace steelyard::cli
