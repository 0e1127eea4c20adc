// steelyard engine: the process that does the work, started by `steelyard run` and by nobody else.
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "steelyard/cli/command.h"
#include "steelyard/cli/engine_runner.h"
#include "steelyard/io/crash.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/remote_provider.h"
#include "steelyard/io/signal.h"
#include "steelyard/io/thread.h"

namespace steelyard::cli {

std::string engine_protocol() { return fmt::format("steelyard-engine {}\n", io::kChannelVersion); }

int engine(const EngineFlags& flags) {
  if (flags.protocol) {
    fmt::print("{}", engine_protocol());
    return kOk;
  }
  io::name_this_thread("steelyard");
  io::leave_no_core();
  io::tell_crashes();
  io::block_signals();
  io::Fd inherited(flags.channel);
  const auto reactor = io::make_epoll_reactor();
  // A descriptor that no child of ours gets.
  io::Fd channel = io::duplicate(inherited);
  const auto fail = [&](const std::string& why) {
    fmt::print(stderr, "steelyard: engine: {}\n", why);
    io::Channel supervisor(std::move(inherited));
    (void)supervisor.send({io::Verb::kNotStarted, 0, why});
    return kFailure;
  };
  if (!channel.valid() && errno == EMFILE) {
    return fail(fmt::format("{}; raise the limit of them (ulimit -n)", std::strerror(errno)));
  }
  auto provider = io::RemoteProvider::connect(*reactor, std::move(channel));
  if (!provider) {
    return fail(provider.error().describe() + "; `steelyard run` starts engines");
  }
  inherited.reset();
  EngineRunner runner(flags.run, *reactor, **provider, provider->get());
  return runner.run();
}

}  // namespace steelyard::cli
