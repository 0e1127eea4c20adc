// A TCP relay with faults; what a plan is stands in lib/tcp_fault.h.
//
//   tcpfault --to HOST:PORT [--listen HOST:PORT] [--control HOST:PORT] [--plan PLAN]
//
// Prints the relay's port and the control port. A control connection takes lines: `plan PLAN` (new
// connections), `now PLAN` (open ones too), `reset` (all connections), `stats`; each is answered by
// a line. An empty PLAN is a plain relay.
#include <cstdio>
#include <map>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "test/rigs/lib/args.h"
#include "test/rigs/lib/tcp_fault.h"

namespace steelyard::rigs {
namespace {

std::string obey(TcpFault& relay, const std::string& line) {
  const auto verb = line.substr(0, line.find(' '));
  const auto rest = line.size() > verb.size() ? line.substr(verb.size() + 1) : std::string();
  if (verb == "reset") {
    relay.reset_all();
    return "ok";
  }
  if (verb == "stats") {
    return "open=" + std::to_string(relay.open()) + " accepted=" + std::to_string(relay.accepted());
  }
  const auto plan = plan_of(rest);
  if ((verb != "plan" && verb != "now") || !plan) return "error: not understood: " + line;
  relay.plan(*plan, verb == "now");
  return "ok";
}

struct Control {
  std::shared_ptr<Wire> wire;
  std::string partial;
};

}  // namespace
}  // namespace steelyard::rigs

int main(int argc, char** argv) {
  using namespace steelyard::rigs;
  Args args(argc, argv);
  const auto to = endpoint_of(args.text("to"));
  const auto listen = endpoint_of(args.text("listen", "127.0.0.1:0"));
  const int control = listen_on(endpoint_of(args.text("control", "127.0.0.1:0")));
  const auto plan = plan_of(args.text("plan"));
  if (!args.all_known() || to.port == 0 || !plan) {
    std::fprintf(stderr, "usage: tcpfault --to HOST:PORT [--listen] [--control] [--plan PLAN]\n");
    return 2;
  }
  Loop loop;
  TcpFault relay(loop, listen, to);
  if (!relay.up() || control < 0) {
    std::perror("tcpfault: listen");
    return 1;
  }
  relay.plan(*plan, false);
  std::map<int, Control> sessions;
  loop.add(control, EPOLLIN, [&](std::uint32_t) {
    const int fd = ::accept4(control, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    auto& session = sessions[fd] = {Wire::adopt(loop, fd), {}};
    session.wire->on.bytes = [&, fd](std::string_view bytes) {
      auto& text = sessions[fd].partial;
      text.append(bytes);
      for (auto end = text.find('\n'); end != text.npos; end = text.find('\n')) {
        sessions[fd].wire->send(obey(relay, text.substr(0, end)) + "\n");
        text.erase(0, end + 1);
      }
    };
    session.wire->on.end = [&, fd](int) { loop.later([&, fd] { sessions.erase(fd); }); };
  });
  std::printf("%d\n%d\n", relay.port(), port_of(control));
  (void)std::fflush(stdout);
  loop.run();
  return 0;
}
