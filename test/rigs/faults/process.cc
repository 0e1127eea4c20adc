// The program itself: told to reload without end, given nonsense, killed, starved, upgraded.

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <unistd.h>

#include "test/rigs/faults/faults.h"
#include "test/rigs/lib/crowd.h"

namespace steelyard::rigs {
namespace {

constexpr Micros kSecond = 1'000'000;

std::string weighted(const Stage& stage, double first) {
  auto text = stage.config();
  const auto at = text.find("\" }", text.find("name: n1"));
  return text.insert(at + 1, ", weight: " + std::to_string(first));
}

double weight_of(Stage& stage, std::size_t node) {
  const auto view = stage.balancer().api("/api/v1/upstreams/api");
  if (!view.is_object() || !view.contains("nodes")) return -1;
  return view["nodes"][node]["weight"].get<double>();
}

Report reload_storm(Context& context, const Fault& fault) {
  // A picker whose shares are exact, since the last configuration shows in them.
  Stage stage(context, fault.name, fault.what,
              {.upstream = "    pick: smooth_weighted_round_robin\n"});
  if (!stage.steady()) return stage.finish();
  auto& balancer = stage.balancer();
  for (int i = 0; i < 20; ++i) {  // warm
    balancer.process().signal(SIGHUP);
    pause(0.02);
  }
  const auto before = balancer.usage().private_kib;
  stage.fault_begins();
  for (int i = 0; i < 1000; ++i) {
    if (i % 50 == 0) replace_text(balancer.file(), weighted(stage, 1 + i % 100 / 50.0));
    balancer.process().signal(SIGHUP);
    pause(0.005);
  }
  replace_text(balancer.file(), weighted(stage, 3));
  balancer.process().signal(SIGHUP);
  const bool last = wait_until([&] { return weight_of(stage, 0) == 3; }, std::chrono::seconds(3));
  stage.fault_ends();
  const auto after = balancer.usage().private_kib;
  stage.rules.targets = {{"n1", 0.5}, {"n2", 1.0 / 6}, {"n3", 1.0 / 6}, {"n4", 1.0 / 6}};
  stage.settle(1);
  stage.note(std::to_string(static_cast<int>(balancer.metric("steelyard_config_reloads_total"))) +
             " reloads for 1,021 signals; memory +" + std::to_string(after - before) + " KiB");
  stage.expect(last, "the last configuration did not win");
  stage.expect(stage.errors() == 0, "requests failed");
  stage.expect(after - before <= 8192, "memory grew by " + std::to_string(after - before) + " KiB");
  stage.expect_recovery(2);
  return stage.finish();
}

Report bad_file(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  if (!stage.steady()) return stage.finish();
  auto& balancer = stage.balancer();
  stage.fault_begins();
  const bool taken = balancer.reload(stage.config() + "nonsense: 1\n");
  const double told = balancer.metric("steelyard_config_last_reload_successful");
  const auto log = balancer.log();
  write_text(stage.dir() / "bad.yaml", stage.config() + "nonsense: 1\n");
  const int checked = run_program({context.balancer.binary, "check", stage.dir() / "bad.yaml"});
  pause(1);
  stage.expect(balancer.reload(weighted(stage, 2)), "a good file was not taken afterwards");
  stage.fault_ends();
  stage.settle(0.5);
  stage.expect(!taken, "a bad file was taken");
  stage.expect(told == 0, "the metric does not tell of the refused reload");
  stage.expect(checked == 1, "check: exit status " + std::to_string(checked));
  stage.expect(log.find("nonsense") != std::string::npos && log.find(".yaml:") != std::string::npos,
               "the log gives no place and reason");
  stage.expect(stage.errors() == 0, "requests failed");
  stage.expect_recovery(1);
  return stage.finish();
}

constexpr const char* kKey = "sy_e2e-key-0123456789";
constexpr const char* kKeyHash = "739a6c0dbae310ab8a94e15558f4d223c6de5f53095f47c0f8cca790546eb68d";

// A stage whose ports outlive the process, with a key for overrides.
StageOptions lasting() {
  StageOptions out;
  out.listen = "127.0.0.1:" + std::to_string(free_port());
  out.admin = "address: \"127.0.0.1:" + std::to_string(free_port()) +
              "\", keys: [{ name: rig, sha256: " + kKeyHash + " }]";
  return out;
}

// The process that holds no traffic is the parent; 0 when there is no second process.
pid_t engine_of(Stage& stage) {
  const auto tree = tree_of(stage.balancer().process().pid());
  return tree.size() < 2 ? 0 : tree[1];
}

bool override_n1(Stage& stage, double weight) {
  const auto answer =
      ask_post(stage.balancer().admin_port(), "/api/adjust-weight",
               "{\"node\":\"n1\",\"weight\":" + std::to_string(weight) + "}",
               std::string("Content-Type: application/json\r\nX-API-Key: ") + kKey + "\r\n");
  return answer.status == 200;
}

Report engine_crash(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, lasting());
  stage.rules.any = {"reset", "closed", "truncated"};
  if (!stage.steady()) return stage.finish();
  stage.expect(override_n1(stage, 2), "the override was not taken");
  const pid_t engine = engine_of(stage);
  stage.fault_begins();
  if (engine == 0) {
    stage.expect(false, "there is no engine process of its own: a crash ends everything");
    stage.fault_ends();
    stage.settle(0);
    return stage.finish();
  }
  (void)::kill(engine, SIGSEGV);
  const auto port = stage.balancer().port();
  const bool back =
      wait_until([&] { return ask_get(port, "/back", std::chrono::seconds(1)).status == 200; },
                 std::chrono::seconds(1));
  stage.fault_ends();
  stage.rules.grace = kSecond;
  pause(0.5);
  stage.expect(back, "no new engine answered within 1 s");
  const pid_t next = engine_of(stage);
  stage.expect(next != 0 && next != engine, "no new engine process");
  stage.expect(weight_of(stage, 0) == 2, "the override was not restored");
  stage.settle(1);
  stage.expect(stage.errors(false, "refused") + stage.errors(true, "refused") == 0,
               "connects were refused");
  stage.expect_recovery(1);
  return stage.finish();
}

Report supervisor_killed(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, lasting());
  stage.rules.any = {"reset", "closed", "truncated", "refused"};
  if (!stage.steady()) return stage.finish();
  const pid_t engine = engine_of(stage);
  if (engine == 0) {
    stage.expect(false, "there is no supervisor");
    return stage.finish();
  }
  stage.balancer().process().signal(SIGKILL);
  (void)stage.balancer().process().wait(std::chrono::seconds(2));
  const auto good = stage.client().totals().good.load();
  pause(1.5);
  stage.expect(stage.client().totals().good > good + 500, "the engine did not serve on alone");
  stage.expect(std::filesystem::exists("/proc/" + std::to_string(engine)), "the engine ended");
  stage.fault_begins();
  stage.restart_balancer();
  stage.expect(stage.balancer().up(),
               "a new supervisor did not come up: " + stage.balancer().log());
  const bool ended = wait_until(
      [&] { return !std::filesystem::exists("/proc/" + std::to_string(engine) + "/exe"); },
      std::chrono::seconds(5));
  stage.fault_ends();
  stage.settle(1);
  stage.expect(ended || engine_of(stage) == engine, "two engines at a time");
  if (!ended) (void)::kill(engine, SIGKILL);
  stage.expect_recovery(2);
  return stage.finish();
}

Report memory_limit(Context& context, const Fault& fault) {
  const std::string folder = "/sys/fs/cgroup/memory/steelyard-rig-" + std::to_string(::getpid());
  std::error_code none;
  const bool made = std::filesystem::create_directory(folder, none) &&
                    write_text(folder + "/memory.limit_in_bytes", "134217728");
  StageOptions options{.connections = 64, .top = "overload: { memory: 48MiB }\n"};
  if (made) options.cgroup_procs = folder + "/cgroup.procs";
  Stage stage(context, fault.name, fault.what, options);
  // What the stages do: refuse, and break off who holds most.
  stage.rules.any = {"503", "reset", "closed"};
  if (!made) {
    stage.expect(false, "needs a memory cgroup (version 1) and root");
    return stage.finish();
  }
  if (!stage.steady()) return stage.finish();
  const Endpoint to{"127.0.0.1", stage.balancer().port()};
  stage.fault_begins();
  // Heads that stop just short of their end: more of them than the memory could hold. Answers that
  // nobody takes, and bodies that the nodes do not, are held back in the kernel instead.
  std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 60; ++i) {
    head += "F" + std::to_string(i) + ": " + std::string(990, 'x') + "\r\n";
  }
  Crowd heads({.to = to, .connections = 4000, .request = head, .deaf = true, .per_second = 1500});
  Crowd readers({.to = to,
                 .connections = 500,
                 .request = "GET /f HTTP/1.1\r\nHost: a\r\nX-Ledger-Nonce: 1\r\nX-Ledger-Size: "
                            "131072\r\n\r\n",
                 .deaf = true,
                 .per_second = 200});
  double stages = 0;
  std::uint64_t most_held = 0;
  for (int i = 0; i < 8; ++i) {
    run_together({&heads, &readers}, 0.5);
    stages = std::max(stages, stage.balancer().metric("steelyard_proxy_overload_stage"));
    most_held = std::max(most_held, static_cast<std::uint64_t>(
                                        stage.balancer().metric("steelyard_proxy_buffer_bytes")));
  }
  const auto most = read_text(folder + "/memory.max_usage_in_bytes");
  heads.close();
  readers.close();
  stage.fault_ends();
  stage.rules.grace = kSecond;
  stage.settle(2);
  const auto control = read_text(folder + "/memory.oom_control");
  const auto at = control.find("oom_kill ");
  const int kills = at == std::string::npos ? 0 : std::atoi(control.c_str() + at + 9);
  stage.note("at most " + std::to_string(std::atoll(most.c_str()) >> 20) +
             " of 128 MiB, of which " + std::to_string(most_held >> 20) +
             " MiB of 48 in buffers; stage " + std::to_string(static_cast<int>(stages)) + "; " +
             std::to_string(kills) + " kills");
  stage.expect(stages >= 3, "the flood was not held by the stages of overload");
  stage.expect(kills == 0, "the kernel killed " + std::to_string(kills) + " times");
  stage.expect_recovery(3);
  auto report = stage.finish();
  std::filesystem::remove(folder, none);
  return report;
}

// Starts the program under strace with one call of one kind failing, asks once, reloads, stops.
std::string with_failing_call(Context& context, const std::string& config, const std::string& call,
                              const std::string& error, int when) {
  const TempDir dir;
  write_text(dir / "c.yaml", config);
  std::vector<std::string> command{
      "strace",
      "-f",
      "-qq",
      "-o",
      "/dev/null",
      "-e",
      "trace=" + call,
      "-e",
      "inject=" + call + ":error=" + error + ":when=" + std::to_string(when),
      context.balancer.binary,
      "run",
      dir / "c.yaml"};
  const auto& more = context.balancer.arguments;
  command.insert(command.end(), more.begin(), more.end());
  Process process(command, {.output = dir / "log"});
  const auto name = call + " no. " + std::to_string(when) + " → " + error;
  const auto text = [&] { return read_text(dir / "log"); };
  const bool up =
      wait_until(
          [&] { return text().find("admin url=") != std::string::npos || !process.running(); },
          std::chrono::seconds(8)) &&
      process.running();
  if (up) {
    const auto log = text();
    const auto at = log.find("listening address=127.0.0.1:");
    const auto port = static_cast<std::uint16_t>(std::atoi(log.c_str() + at + 28));
    (void)ask_get(port, "/one", std::chrono::seconds(2));
    for (const pid_t pid : tree_of(process.pid())) {
      if (pid != process.pid()) (void)::kill(pid, SIGHUP);
    }
    pause(0.05);
    if (ask_get(port, "/two", std::chrono::seconds(3)).status == 0 && process.running() &&
        ask_get(port, "/three", std::chrono::seconds(3)).status == 0) {
      return name + ": does not answer afterwards";
    }
    for (const pid_t pid : tree_of(process.pid())) {
      if (pid != process.pid()) (void)::kill(pid, SIGTERM);
    }
  }
  const int status = process.wait(std::chrono::seconds(8));
  if (status < 0) return name + ": does not stop";
  if (status > 128) return name + ": ends by signal " + std::to_string(status - 128);
  const auto told = [&](std::string_view mark) { return text().find(mark) != std::string::npos; };
  if (!up && !told("steelyard:") && !told(".yaml") && !told("engine_not_started reason=")) {
    return name + ": ends at start without a word";
  }
  return {};
}

Report failing_calls(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {.nodes = 1});
  if (run_program({"strace", "-V"}) != 0) {
    stage.expect(false, "needs strace");
    return stage.finish();
  }
  NodeProcess node(context, "n1", stage.dir().path());
  stage.expect(node.start(), "the node did not start");
  const std::string config =
      "workers: 1\nlisteners:\n  - { address: \"127.0.0.1:0\", routes: [{ upstream: api }] }\n"
      "upstreams:\n  api: { nodes: [\"127.0.0.1:" +
      std::to_string(node.at().port) +
      "\"] }\ndrain: { limit: 1s, idle: 50ms }\nadmin: { address: \"127.0.0.1:0\" }\n";
  struct Row {
    const char *call, *error;
    std::array<int, 3> when;  // 0: not
  };
  constexpr std::array rows{
      Row{"socket", "EMFILE", {1, 2, 3}},         Row{"bind", "EADDRINUSE", {1, 2, 0}},
      Row{"listen", "EADDRINUSE", {1, 0, 0}},     Row{"accept4", "ENFILE", {1, 2, 0}},
      Row{"connect", "ENETUNREACH", {1, 0, 0}},   Row{"epoll_create1", "EMFILE", {1, 2, 0}},
      Row{"epoll_ctl", "ENOMEM", {1, 3, 6}},      Row{"epoll_wait", "EINTR", {1, 2, 0}},
      Row{"eventfd2", "EMFILE", {1, 2, 0}},       Row{"recvfrom", "ECONNRESET", {1, 2, 0}},
      Row{"sendto", "EPIPE", {1, 2, 0}},          Row{"clone3", "EAGAIN", {1, 2, 0}},
      Row{"io_uring_setup", "EMFILE", {1, 2, 0}}, Row{"io_uring_enter", "EINTR", {1, 2, 4}},
      Row{"openat", "EMFILE", {8, 12, 0}}};
  std::size_t runs = 0;
  const auto until = Clock::now() + std::chrono::seconds(30);
  for (const auto& row : rows) {
    for (const int when : row.when) {
      if (when == 0 || Clock::now() > until) continue;
      ++runs;
      const auto wrong = with_failing_call(context, config, row.call, row.error, when);
      stage.expect(wrong.empty(), wrong);
    }
  }
  stage.note(std::to_string(runs) + " system calls failed once each; allocations were not");
  return stage.finish();
}

Report stop_and_upgrade(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, lasting());
  if (!stage.steady()) return stage.finish();
  const auto port = stage.balancer().port();
  // A long answer, read slowly, that spans the upgrade.
  const int fd = connect_now({"127.0.0.1", port}, std::chrono::seconds(10));
  const std::string request =
      "GET /long HTTP/1.1\r\nHost: a\r\nX-Ledger-Nonce: 1\r\nX-Ledger-Size: 8000000\r\n\r\n";
  (void)!::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  const pid_t engine = engine_of(stage);
  stage.fault_begins();
  if (engine == 0) {
    stage.expect(false, "there is no supervisor to upgrade");
  } else {
    stage.balancer().process().signal(SIGUSR2);
    stage.expect(wait_until(
                     [&] {
                       const pid_t now = engine_of(stage);
                       const auto tree = tree_of(stage.balancer().process().pid());
                       return now != 0 && (now != engine || tree.size() > 2);
                     },
                     std::chrono::seconds(5)),
                 "no new engine after USR2");
  }
  std::size_t got = 0;
  std::string buffer(1 << 20, '\0');
  for (ssize_t part = 1; part > 0 && got < 8000000;) {
    part = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (part > 0) got += static_cast<std::size_t>(part);
  }
  ::close(fd);
  stage.expect(got >= 8000000, "the long answer was cut after " + std::to_string(got) + " bytes");
  pause(1);
  stage.fault_ends();
  stage.settle(1);
  stage.expect(stage.errors() == 0, "requests failed");
  stage.expect_recovery(0);
  return stage.finish();  // TERM, and exit status 0
}

constexpr std::array kFaults{Fault{"F40", "1,000 SIGHUP", reload_storm},
                             Fault{"F41", "a bad configuration on SIGHUP", bad_file},
                             Fault{"F42", "the engine crashes", engine_crash},
                             Fault{"F43", "the supervisor is killed", supervisor_killed},
                             Fault{"F44", "128 MiB of memory under a flood", memory_limit},
                             Fault{"F45", "each system call fails once", failing_calls},
                             Fault{"F48", "upgrade and stop under load", stop_and_upgrade}};

}  // namespace

std::span<const Fault> process_faults() { return kFaults; }

}  // namespace steelyard::rigs
