// Load with a fixed schedule, and crowds of clients of one kind.
//
//   openload --to HOST:PORT [--rate 1000] [--seconds 5] [--connections 64] [--path /64]
//            [--post BYTES] [--close]
//       open loop: requests are due at fixed times; latencies run from then
//   openload --to HOST:PORT --mode idle [--connections 10000] [--sources 4] [--seconds 60]
//       idle connections; at the end each sends a request: how many were answered, how fast
//   openload --to HOST:PORT --mode readers|uploaders|slowloris [--connections N] [--seconds S]
//            [--path /1m] [--bytes 16777216]
//       clients that do not read (1,000); that upload as fast as they can (64); that send their
//       heads byte by byte (1,000)
//
// Prints one line of JSON. Exit status 1 when something was not answered as it should be.
#include <csignal>
#include <cstdio>
#include <sys/resource.h>

#include "test/rigs/lib/args.h"
#include "test/rigs/lib/crowd.h"
#include "test/rigs/lib/open_load.h"

namespace steelyard::rigs {
namespace {

double us(const base::Histogram& histogram, double q) {
  const auto value = histogram.quantile(q);
  return value ? static_cast<double>(value->count()) / 1e3 : 0;
}

int load(Args& args, const Endpoint& to) {
  OpenLoad load({.to = to,
                 .rate = args.number("rate", 1000),
                 .connections = static_cast<std::size_t>(args.whole("connections", 64)),
                 .path = args.text("path", "/64"),
                 .post = static_cast<std::size_t>(args.whole("post", 0)),
                 .close = args.has("close")});
  const double seconds = args.number("seconds", 5);
  if (!args.all_known()) return 2;
  if (!load.open()) {
    std::perror("openload: connect");
    return 1;
  }
  const auto r = load.run(seconds);
  std::printf(
      "{\"due\":%llu,\"good\":%llu,\"bad\":%llu,\"status_503\":%llu,\"connect_failures\":%llu,"
      "\"left\":%llu,\"rps\":%.0f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f,"
      "\"p99_503_us\":%.0f}\n",
      static_cast<unsigned long long>(r.due), static_cast<unsigned long long>(r.good),
      static_cast<unsigned long long>(r.bad), static_cast<unsigned long long>(r.refused_503),
      static_cast<unsigned long long>(r.connect_failures), static_cast<unsigned long long>(r.left),
      static_cast<double>(r.good) / r.seconds, us(r.latency, 0.5), us(r.latency, 0.99),
      us(r.latency, 0.999), us(r.refusal, 0.99));
  return r.good > 0 && r.bad + r.left + r.connect_failures == 0 ? 0 : 1;
}

int crowd(Args& args, const Endpoint& to, const std::string& mode) {
  const auto many = mode == "idle" ? 10000 : mode == "uploaders" ? 64 : 1000;
  CrowdOptions options{.to = to,
                       .connections = static_cast<std::size_t>(args.whole("connections", many)),
                       .sources = args.whole("sources", 4)};
  const auto path = args.text("path", mode == "readers" ? "/1m" : "/64");
  const auto bytes = static_cast<std::uint64_t>(args.number("bytes", 16777216));
  options.request = "GET " + path + " HTTP/1.1\r\nHost: load.example\r\n\r\n";
  if (mode == "readers") {
    options.deaf = true;
  } else if (mode == "uploaders") {
    options.request = "POST " + path + " HTTP/1.1\r\nHost: load.example\r\nContent-Length: " +
                      std::to_string(bytes) + "\r\n\r\n";
    options.pour = std::string(65536, 'p');
    options.pour_most = bytes;
  } else if (mode == "slowloris") {
    options.drip = options.request.substr(0, options.request.size() - 2) + "X-Slow: aaaaaaaaaaaa";
  } else if (mode != "idle") {
    return 2;
  }
  const double seconds = args.number("seconds", 10);
  if (!args.all_known()) return 2;
  Crowd all(options);
  const bool open = all.open_all(30);
  const auto from = Clock::now();
  all.run(seconds);
  const auto held = all.open_now();
  if (mode == "idle") {
    all.send_all();
    (void)all.run_until_answered(10);
  }
  const double took = std::chrono::duration<double>(Clock::now() - from).count();
  std::printf(
      "{\"opened\":%zu,\"open_at_end\":%zu,\"answered\":%zu,\"p50_ms\":%.1f,\"p99_ms\":%.1f,"
      "\"uploaded_bytes\":%llu,\"seconds\":%.1f}\n",
      all.opened(), held, all.answered(), all.quantile_ms(0.5), all.quantile_ms(0.99),
      static_cast<unsigned long long>(all.poured()), took);
  return open && (mode != "idle" || all.answered() == all.opened()) ? 0 : 1;
}

}  // namespace
}  // namespace steelyard::rigs

int main(int argc, char** argv) {
  using namespace steelyard::rigs;
  (void)::signal(SIGPIPE, SIG_IGN);
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  Args args(argc, argv, {"close"});
  const auto to = endpoint_of(args.text("to"));
  const auto mode = args.text("mode", "load");
  const int status = to.port == 0 ? 2 : mode == "load" ? load(args, to) : crowd(args, to, mode);
  if (status == 2)
    std::fprintf(stderr, "usage: openload --to HOST:PORT [...]; see the file's head\n");
  return status;
}
