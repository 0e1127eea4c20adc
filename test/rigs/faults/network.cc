// The network between balancer and nodes: packets dropped, lost and slow, no port left.
//
// With a network namespace of our own, nftables does it on its loopback; without one a relay that
// takes bytes and throws them away stands in, which a connect cannot tell from a slow node.

#include <array>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/rigs/faults/faults.h"

namespace steelyard::rigs {
namespace {

constexpr Micros kSecond = 1'000'000;
const std::map<std::string, double> kEqual{{"n1", 0.25}, {"n2", 0.25}, {"n3", 0.25}, {"n4", 0.25}};

// Rules of one chain on all that comes in, gone with the object.
class Filter {
 public:
  explicit Filter(Stage& stage) {
    good_ =
        run_program({"nft", "add chain inet rig in { type filter hook input priority 0; }"}) == 0;
    if (!good_) stage.expect(false, "nftables: cannot add a chain");
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  ~Filter() {
    clear();
    (void)run_program({"nft", "delete chain inet rig in"});
  }
  void add(Stage& stage, const std::string& rule) {
    stage.expect(run_program({"nft", "add rule inet rig in " + rule}) == 0, "nftables: " + rule);
  }
  void clear() { (void)run_program({"nft", "flush chain inet rig in"}); }

 private:
  bool good_ = false;
};

std::string port_text(Stage& stage, std::size_t node) {
  return std::to_string(stage.node(node).at().port);
}

// Requests that took longer than `ms` and began between two moments.
std::size_t slower_than(const Stage& stage, double ms, Micros from, Micros to) {
  std::size_t out = 0;
  for (const auto& one : stage.history().asked) {
    out +=
        one.start >= from && one.start <= to && static_cast<double>(one.end - one.start) > ms * 1e3;
  }
  return out;
}

Report no_connect(Context& context, const Fault& fault) {
  const bool net = context.own_net;
  Stage stage(context, fault.name, fault.what, {.top = "pool: { connections: 0 }\n"});
  stage.rules.targets = kEqual;
  if (!net) {
    stage.expect(false, "needs nftables: " + context.net_why);
    return stage.finish();
  }
  if (!stage.steady()) return stage.finish();
  Filter filter(stage);
  stage.fault_begins();
  filter.add(stage, "tcp dport " + port_text(stage, 0) + " tcp flags & (syn | ack) == syn drop");
  pause(4);
  filter.clear();
  stage.fault_ends();
  stage.settle(4);
  stage.expect(stage.errors() == 0, "requests failed");
  const auto from = stage.rules.fault_from;
  const double out = stage.until_state("n1", "!usable", from);
  stage.expect(out <= 3, "n1 was not out within 3 s");
  const double slowest = stage.quantile_ms(1, from, from + 8 * kSecond);
  stage.expect(slowest <= 1100, "requests took longer than the connect time-out and 100 ms");
  // Trials go to it still, one at a time.
  const auto late = from + static_cast<Micros>(std::min(out, 4.0) * 1e6) + kSecond / 2;
  stage.expect(slower_than(stage, 900, late, from + 8 * kSecond) <= 4,
               "others than the first hits and trials waited");
  char text[100];
  (void)std::snprintf(text, sizeof text, "out after %.1f s; %zu first hits waited, at most %.0f ms",
                      out, slower_than(stage, 900, from, late), slowest);
  stage.note(text);
  stage.expect_recovery(6);
  return stage.finish();
}

Report dead_connections(Context& context, const Fault& fault) {
  const bool net = context.own_net;
  Stage stage(context, fault.name, fault.what, net ? StageOptions{} : StageOptions{.relayed = {0}});
  stage.rules.any = {"504"};
  stage.rules.targets = kEqual;
  stage.rules.grace = 2500 * 1000;
  if (!net) stage.note(context.net_why + ": a relay that swallows all bytes stands in");
  if (!stage.steady()) return stage.finish();
  std::unique_ptr<Filter> filter;
  stage.fault_begins();
  if (net) {
    filter = std::make_unique<Filter>(stage);
    filter->add(stage, "tcp dport " + port_text(stage, 0) + " drop");
    filter->add(stage, "tcp sport " + port_text(stage, 0) + " drop");
  } else {
    stage.relay(0, "hole", true);
  }
  pause(5);
  filter.reset();
  if (!net) stage.relay(0, "", true, true);
  stage.fault_ends();
  stage.settle(5);
  stage.expect(stage.errors() <= 64, "more failures than connections in the pools");
  stage.note(std::to_string(stage.errors()) + " failures");
  stage.expect_recovery(6);
  return stage.finish();
}

Report one_byte_writes(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what,
              {.rate = 40, .relayed = {0, 1, 2, 3}, .large = 0, .front = true});
  if (!stage.steady()) return stage.finish();
  const auto requests = [&] { return static_cast<double>(stage.client().totals().good); };
  const double cpu0 = stage.balancer().usage().cpu_s, asked0 = requests();
  pause(2);
  const double cpu1 = stage.balancer().usage().cpu_s, asked1 = requests();
  stage.fault_begins();
  for (const auto way : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, kFront}) {
    stage.relay(way, "split=1,gap=0", true);
  }
  pause(4);
  const double cpu2 = stage.balancer().usage().cpu_s, asked2 = requests();
  for (const auto way : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, kFront}) {
    stage.relay(way, "", true);
  }
  stage.fault_ends();
  stage.settle(1);
  stage.expect(stage.errors() == 0, "requests failed");
  const double whole = (cpu1 - cpu0) / std::max(asked1 - asked0, 1.0);
  const double bytes = (cpu2 - cpu1) / std::max(asked2 - asked1, 1.0);
  char text[100];
  (void)std::snprintf(text, sizeof text, "%.0f µs a request, in single bytes %.0f µs (%.1f×)",
                      whole * 1e6, bytes * 1e6, bytes / whole);
  stage.note(text);
  stage.expect(bytes <= 20 * whole, "single bytes cost more than 20 times as much");
  stage.expect_recovery(1);
  return stage.finish();
}

Report loss(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  if (!context.own_net) {
    stage.expect(false, "needs nftables: " + context.net_why);
    return stage.finish();
  }
  if (!stage.steady()) return stage.finish();
  Filter filter(stage);
  stage.fault_begins();
  for (std::size_t i = 0; i < 4; ++i) {
    for (const auto* const end : {"dport", "sport"}) {
      filter.add(stage, std::string("tcp ") + end + " " + port_text(stage, i) +
                            " numgen random mod 100 < 5 drop");
    }
  }
  pause(5);
  filter.clear();
  stage.fault_ends();
  stage.settle(2);
  stage.expect(stage.errors() == 0, "requests failed");
  char text[100];
  const auto from = stage.rules.fault_from, to = stage.rules.fault_to;
  (void)std::snprintf(text, sizeof text, "p50 %.1f ms, p99 %.0f ms under loss",
                      stage.quantile_ms(0.5, from, to), stage.quantile_ms(0.99, from, to));
  stage.note(text);
  stage.expect_recovery(3);
  return stage.finish();
}

// A second namespace at the end of a veth pair, in which nodes can be.
class FarNet {
 public:
  explicit FarNet(Stage& stage) : name_("rig-" + std::to_string(::getpid())) {
    good_ = run_program({"ip", "netns", "add", name_}) == 0 &&
            run_program({"ip", "link", "add", "rig0", "type", "veth", "peer", "name", "rig1",
                         "netns", name_}) == 0 &&
            run_program({"ip", "addr", "add", "10.77.0.1/24", "dev", "rig0"}) == 0 &&
            run_program({"ip", "link", "set", "rig0", "up"}) == 0 &&
            in({"ip", "addr", "add", "10.77.0.2/24", "dev", "rig1"}) &&
            in({"ip", "link", "set", "rig1", "up"}) && in({"ip", "link", "set", "lo", "up"});
    if (!good_) stage.expect(false, "cannot make a second network namespace");
  }
  FarNet(const FarNet&) = delete;
  FarNet& operator=(const FarNet&) = delete;
  ~FarNet() {
    (void)run_program({"ip", "link", "del", "rig0"});
    (void)run_program({"ip", "netns", "del", name_});
  }
  [[nodiscard]] bool in(std::vector<std::string> command) const {
    command.insert(command.begin(), {"ip", "netns", "exec", name_});
    return run_program(command) == 0;
  }
  [[nodiscard]] std::string path() const { return "/run/netns/" + name_; }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string name_;
  bool good_ = false;
};

Report slow_link(Context& context, const Fault& fault) {
  StageOptions options{
      .rate = 300, .route = "timeouts: { connect: 1s, head: 6s, idle: 6s }", .large = 0.2};
  if (!context.own_net) options.relayed = {0};
  Stage stage(context, fault.name, fault.what, options);
  std::unique_ptr<FarNet> far;
  if (context.own_net) {
    far = std::make_unique<FarNet>(stage);
    if (!far->good()) return stage.finish();
    stage.options().far = {{0, {"10.77.0.2", far->path()}}};
  } else {
    stage.note(context.net_why + ": a relay with a limited rate stands in");
  }
  if (!stage.steady()) return stage.finish();
  pause(1);
  const auto before = stage.balancer().usage().rss_kib;
  stage.fault_begins();
  if (far) {
    for (const auto* const end : {"rig0", "rig1"}) {
      std::vector<std::string> command{"tc",   "qdisc", "add",   "dev",  end,       "root", "tbf",
                                       "rate", "1mbit", "burst", "16kb", "latency", "200ms"};
      stage.expect(std::string(end) == "rig0" ? run_program(command) == 0 : far->in(command),
                   "tc: no token bucket");
    }
  } else {
    stage.relay(0, "rate=125000", true);
  }
  std::int64_t most = 0;
  for (int i = 0; i < 12; ++i) {
    pause(0.5);
    most = std::max(most, stage.balancer().usage().rss_kib);
  }
  stage.fault_ends();
  if (far) {
    (void)run_program({"tc", "qdisc", "del", "dev", "rig0", "root"});
    (void)far->in({"tc", "qdisc", "del", "dev", "rig1", "root"});
  } else {
    stage.relay(0, "", true);
  }
  stage.rules.grace = 6 * kSecond;
  stage.settle(4);
  const auto from = stage.rules.fault_from;
  const double part = stage.part_of("n1", from + 2 * kSecond, stage.rules.fault_to);
  stage.note("memory +" + std::to_string(most - before) + " KiB, the node's part " +
             std::to_string(part * 100).substr(0, 4) + " %");
  stage.expect(part <= 0.125, "the node kept more than half its share");
  stage.expect(most - before <= 8192, "memory grew by " + std::to_string(most - before) + " KiB");
  stage.expect_recovery(5);
  return stage.finish();
}

Report no_ports(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what,
              {.connections = 30, .top = "pool: { connections: 0 }\n"});
  stage.rules.any = {"503"};
  if (!context.own_net) {
    stage.expect(false, "needs a network namespace: " + context.net_why);
    return stage.finish();
  }
  const auto range = "/proc/sys/net/ipv4/ip_local_port_range";
  const auto usual = read_text(range);
  const auto narrow = [&](const std::string& text) {
    const int fd = ::open(range, O_WRONLY | O_CLOEXEC);
    stage.expect(::write(fd, text.data(), text.size()) > 0, "cannot set the range of ports");
    ::close(fd);
  };
  narrow("30000 32000");
  // Closed connections keep their port for a minute; reuse keeps the other nodes going.
  (void)write_text("/proc/sys/net/ipv4/tcp_tw_reuse", "1");
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  std::vector<int> held;
  for (int i = 0; i < 2100; ++i) {
    const int fd = connect_now(stage.node(0).at(), std::chrono::seconds(1));
    if (fd < 0) break;
    held.push_back(fd);
  }
  stage.note(std::to_string(held.size()) + " ports to n1 held");
  pause(2);
  const double failures = stage.balancer().metric(
      R"(steelyard_upstream_attempts_total{upstream="api",node="n1",result="connect_failure")");
  for (const int fd : held) {
    reset_on_close(fd);
    ::close(fd);
  }
  stage.fault_ends();
  narrow(usual);
  stage.settle(4);
  stage.expect(stage.errors() == 0, "requests failed");
  stage.expect(failures >= 1, "no connect failure of n1 in the metrics");
  stage.expect_recovery(5);
  return stage.finish();
}

constexpr std::array kFaults{
    Fault{"F8", "connects to a node vanish", no_connect},
    Fault{"F9", "a node vanishes under its connections", dead_connections},
    Fault{"F15", "single bytes, both ways, on both sides", one_byte_writes},
    Fault{"F16", "5 % of the packets are lost", loss},
    Fault{"F17", "the way to a node has 1 Mbit/s", slow_link},
    Fault{"F27", "no ports left towards a node", no_ports}};

}  // namespace

std::span<const Fault> network_faults() { return kFaults; }

}  // namespace steelyard::rigs
