// steelyard node: a demo server that takes requests, tells its health, and falls ill on demand.
#include <csignal>
#include <fmt/format.h>

#include "steelyard/cli/command.h"
#include "steelyard/cli/node_server.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/signal.h"
#include "steelyard/io/socket.h"
#include "steelyard/schema/scalar.h"

namespace steelyard::cli {
namespace {

int fail(std::string_view text) {
  fmt::print(stderr, "steelyard node: {}\n", text);
  return kFailure;
}

}  // namespace

int node(const NodeFlags& flags) {
  const auto address = base::Address::parse(flags.listen, /*any=*/true);
  if (!address) return fail("--listen " + address.error().text);
  const auto service = schema::parse_duration(flags.service);
  if (!service) return fail("--service " + service.error().text);
  io::block_signals();
  const auto reactor = io::make_epoll_reactor();
  auto socket = io::listen_tcp(*address, {.backlog = 4096, .reuse_port = false});
  if (!socket) return fail(socket.error().describe());
  const auto local = io::local_address(*socket);
  if (!local) return fail(local.error().describe());
  const std::string name = flags.name.empty() ? local->to_text() : flags.name;

  NodeServer server(*reactor, std::move(*socket),
                    {.name = name, .cores = flags.cores, .service = *service, .seed = flags.seed});
  bool stop = false;
  const auto signals = io::watch_signals(*reactor, [&](int number) {
    if (number != SIGHUP) stop = true;
  });
  if (!signals) return fail(signals.error().describe());
  fmt::print(stderr, "node {} serves http://{}/ with {} cores; its state: http://{}/control\n",
             name, local->to_text(), flags.cores, local->to_text());
  while (!stop) reactor->run_turn(base::TimePoint::max());
  return kOk;
}

}  // namespace steelyard::cli
