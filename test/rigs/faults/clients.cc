// Clients that go away, are slow, are many, or all come at once.

#include <array>
#include <csignal>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/rigs/faults/faults.h"
#include "test/rigs/lib/crowd.h"

namespace steelyard::rigs {
namespace {

constexpr Micros kSecond = 1'000'000;
// Floods, nodes, load and balancer share the machine's processors: so much of a wait is its
// scheduler's, and a quiet p99 of 3 ms would make any of it a failure.
constexpr double kMachineMs = 20;

void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string get_of(std::size_t size) {
  return "GET /file HTTP/1.1\r\nHost: a.example\r\nX-Ledger-Nonce: 1\r\nX-Ledger-Size: " +
         std::to_string(size) + "\r\n\r\n";
}

// Bytes of the answer to a request after which the client ended its direction.
std::size_t read_whole(int fd) {
  std::size_t body = 0;
  bool whole = false;
  MessageReader reader(MessageReader::Kind::kAnswer);
  reader.on_body = [&](std::string_view bytes) { body += bytes.size(); };
  reader.on_end = [&] { whole = true; };
  std::string buffer(65536, '\0');
  while (!whole) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0 || !reader.feed({buffer.data(), static_cast<std::size_t>(got)})) break;
  }
  return whole ? body : 0;
}

Report half_close(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  std::size_t short_ones = 0;
  for (int i = 0; i < 100; ++i) {
    const std::size_t size = i % 2 == 0 ? 300000 : 100;
    const int fd = connect_now({"127.0.0.1", stage.balancer().port()});
    send_all(fd, get_of(size));
    (void)::shutdown(fd, SHUT_WR);
    short_ones += read_whole(fd) != size;
    ::close(fd);
  }
  stage.fault_ends();
  stage.settle(0.5);
  stage.expect(short_ones == 0, std::to_string(short_ones) + " of 100 answers were not whole");
  stage.expect(stage.errors() == 0, "others' requests failed");
  stage.expect_recovery(0);
  return stage.finish();
}

Report reset_in_answer(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {.large = 0});
  if (!stage.steady()) return stage.finish();
  const auto failures = [&] {
    return stage.balancer().metric(
        R"(steelyard_upstream_attempts_total{upstream="api",node="n1",result="failure")");
  };
  const auto files = stage.balancer().usage().files;
  const double failed = failures();
  stage.fault_begins();
  for (int i = 0; i < 40; ++i) {
    const int fd = connect_now({"127.0.0.1", stage.balancer().port()});
    send_all(fd, get_of(4 << 20));
    std::array<char, 1000> some;
    (void)!::recv(fd, some.data(), some.size(), MSG_WAITALL);
    reset_on_close(fd);
    ::close(fd);
  }
  const auto pool = 2U * 2 * 32 * 4;
  const bool back = wait_until(
      [&] {
        const auto view = stage.balancer().api("/api/v1/upstreams/api");
        int busy = 0;
        if (!view.is_object() || !view.contains("nodes")) return false;
        for (const auto& node : view["nodes"]) busy += node["in_flight"].get<int>();
        return busy < 10;
      },
      std::chrono::seconds(1));
  stage.fault_ends();
  stage.expect(back, "attempts for clients that are gone were not ended within 1 s");
  stage.settle(0.5);
  stage.expect(stage.balancer().usage().files <= files + pool, "descriptors were left");
  stage.expect(failures() <= failed, "the node was blamed");
  stage.expect(stage.errors() == 0, "others' requests failed");
  stage.expect_recovery(1);
  return stage.finish();
}

Report no_descriptors(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {.connections = 24, .files = 256});
  stage.rules.any = {"503", "timed-out"};
  stage.rules.deadline = 0;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  Crowd crowd({.to = {"127.0.0.1", stage.balancer().port()}, .connections = 1000});
  crowd.run(1);
  const double cpu = stage.balancer().usage().cpu_s;
  const bool admin = stage.balancer().api("/api/v1/upstreams/api").is_object();
  crowd.run(3);
  const double used = (stage.balancer().usage().cpu_s - cpu) / 3;
  crowd.close();
  stage.fault_ends();
  stage.rules.grace = kSecond;
  stage.settle(1);
  stage.expect(admin, "the admin API did not answer");
  stage.note("CPU " + std::to_string(used * 100).substr(0, 4) + " % with the load of 500 req/s");
  stage.expect(used < 0.2 + 500 * 400e-6, "accepting spins");  // the load itself, generously
  stage.expect_recovery(1);
  return stage.finish();
}

// 10,000, or as many as the program lets in: two descriptors each, and some for nodes and itself.
std::size_t idle_clients() {
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(10'000, (limit.rlim_cur - 400) / 2);
}

Report all_at_once(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what,
              {.rate = 100,
               .deadline_s = 15,
               .route = "timeouts: { connect: 5s, head: 10s, idle: 10s }",
               // Their first request may come this late.
               .top = "clients: { head_timeout: 60s }\n"});
  stage.rules.deadline = 0;
  if (!stage.steady()) return stage.finish();
  const std::size_t many = idle_clients();
  const auto before = stage.balancer().usage().private_kib;
  Crowd crowd({.to = {"127.0.0.1", stage.balancer().port()},
               .connections = many,
               .sources = 4,
               .request = get_of(100)});
  const bool open = crowd.open_all(20);
  stage.expect(open, std::to_string(crowd.opened()) + " connections came up, not all");
  const auto idle = stage.balancer().usage().private_kib;
  stage.fault_begins();
  crowd.send_all();
  (void)crowd.run_until_answered(10);
  stage.fault_ends();
  stage.rules.grace = 2 * kSecond;
  const auto answered = crowd.answered();
  const double p99 = crowd.quantile_ms(0.99);
  crowd.close();
  stage.settle(1);
  char text[120];
  (void)std::snprintf(
      text, sizeof text, "%zu of %zu answered, p99 %.0f ms; %.0f bytes an idle connection",
      answered, many, p99, static_cast<double>(idle - before) * 1024 / static_cast<double>(many));
  stage.note(text);
  stage.expect(answered == many, "not all were answered");
  stage.expect(p99 <= 2000, "p99 above 2 s");
  stage.expect(stage.errors() == 0, "others' requests failed");
  stage.expect_recovery(2);
  return stage.finish();
}

Report floods(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what,
              {.top = "clients: { head_timeout: 2s, idle_timeout: 10s }\n"});
  if (!stage.steady()) return stage.finish();
  pause(1);
  const auto quiet_from = now_us() - kSecond * 3;
  const auto quiet_to = now_us();
  const auto before = stage.balancer().usage().private_kib;
  const Endpoint to{"127.0.0.1", stage.balancer().port()};
  stage.fault_begins();
  // Heads that come a byte at a time, heads and chunk extensions without end.
  Crowd slow({.to = to,
              .connections = 400,
              .drip = "GET / HTTP/1.1\r\nHost: a\r\nX: aaaaaaaaaaaaaaaa",
              .per_second = 200});
  Crowd heads({.to = to,
               .connections = 20,
               .request = "GET / HTTP/1.1\r\nHost: a\r\n",
               .pour = "X-Flood: " + std::string(1000, 'x') + "\r\n",
               .pour_gap = std::chrono::milliseconds(10)});
  Crowd chunks({.to = to,
                .connections = 20,
                .request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
                .pour = "1;" + std::string(1000, 'e') + "\r\nx\r\n",
                .pour_gap = std::chrono::milliseconds(10)});
  // Not all at once: making 100 MiB of answers would keep the nodes busy, which is not the flood.
  Crowd readers(
      {.to = to, .connections = 100, .request = get_of(1 << 20), .deaf = true, .per_second = 40});
  std::int64_t most = 0;
  for (int i = 0; i < 6; ++i) {
    run_together({&slow, &heads, &chunks, &readers}, 0.8);
    most = std::max(most, stage.balancer().usage().private_kib);
  }
  const auto slow_left = slow.open_now(), heads_left = heads.open_now(),
             chunks_left = chunks.open_now();
  for (Crowd* const crowd : {&slow, &heads, &chunks, &readers}) crowd->close();
  stage.fault_ends();
  stage.settle(0.5);
  const double quiet = stage.quantile_ms(0.99, quiet_from, quiet_to);
  const double during = stage.quantile_ms(0.99, stage.rules.fault_from, stage.rules.fault_to);
  char text[160];
  (void)std::snprintf(text, sizeof text,
                      "p99 %.1f ms quiet, %.1f ms under the floods; memory +%lld KiB", quiet,
                      during, static_cast<long long>(most - before));
  stage.note(text);
  stage.expect(stage.errors() == 0, "good clients' requests failed");
  stage.expect(during <= 2 * quiet + kMachineMs, "good clients waited twice as long");
  stage.expect(slow_left == 0, std::to_string(slow_left) + " slow heads outlived their time-out");
  stage.expect(heads_left == 0, std::to_string(heads_left) + " endless heads were not closed");
  stage.expect(chunks_left == 0, std::to_string(chunks_left) + " chunk floods were not closed");
  stage.expect(most - before <= 32768, "memory grew by more than 32 MiB");
  stage.expect_recovery(1);
  return stage.finish();
}

// Neither may cost the others: those who read slowly leave their answers with us, those who send
// fast bring more than the nodes take.
Report slow_clients(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  if (!stage.steady()) return stage.finish();
  pause(2);
  const auto quiet_from = now_us() - kSecond * 3;
  const auto quiet_to = now_us();
  const Endpoint to{"127.0.0.1", stage.balancer().port()};
  stage.fault_begins();
  Crowd readers(
      {.to = to, .connections = 1000, .request = get_of(262144), .sip = true, .per_second = 250});
  // 1 MiB a second each.
  Crowd uploaders({.to = to,
                   .connections = 64,
                   .request = "POST /up HTTP/1.1\r\nHost: a\r\nX-Ledger-Nonce: 1\r\n"
                              "Content-Length: 100000000\r\n\r\n",
                   .pour = std::string(65536, 'u'),
                   .pour_gap = std::chrono::milliseconds(62)});
  run_together({&readers, &uploaders}, 4.5);  // until all are there
  const auto from = now_us();
  const auto poured = uploaders.poured();
  run_together({&readers, &uploaders}, 4);
  const auto to_us = now_us();
  const double rate = static_cast<double>(uploaders.poured() - poured) / 4 / 1048576;
  const auto readers_left = readers.open_now(), uploaders_left = uploaders.open_now();
  readers.close();
  uploaders.close();
  stage.fault_ends();
  stage.settle(0.5);
  const double quiet = stage.quantile_ms(0.99, quiet_from, quiet_to);
  const double during = stage.quantile_ms(0.99, from, to_us);
  const double longest = stage.quantile_ms(1, stage.rules.fault_from, to_us);
  char text[160];
  (void)std::snprintf(text, sizeof text,
                      "p99 %.1f ms quiet, %.1f ms beside them, longest %.0f ms; uploads %.0f MiB/s",
                      quiet, during, longest, rate);
  stage.note(text);
  stage.expect(stage.errors() == 0, "good clients' requests failed");
  stage.expect(during <= 2 * quiet + kMachineMs, "good clients waited twice as long");
  stage.expect(longest < 1000, "a good client's request stood still");
  stage.expect(readers_left >= 990, std::to_string(readers_left) + " of 1,000 readers were kept");
  stage.expect(uploaders_left == 64, std::to_string(uploaders_left) + " of 64 uploaders were kept");
  stage.expect(rate >= 16, "the uploads stood still");
  stage.expect_recovery(1);
  return stage.finish();
}

constexpr std::array kFaults{
    Fault{"F6", "clients half-close after the request", half_close},
    Fault{"F7", "clients reset in the middle of an answer", reset_in_answer},
    Fault{"F26", "no descriptors left", no_descriptors},
    Fault{"F46", "10,000 idle connections send at once", all_at_once},
    Fault{"F47", "floods of heads and chunks", floods},
    Fault{"slow", "1,000 slow readers and 64 uploaders", slow_clients}};

}  // namespace

std::span<const Fault> client_faults() { return kFaults; }

}  // namespace steelyard::rigs
