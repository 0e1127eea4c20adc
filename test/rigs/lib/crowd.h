// Many client connections of one kind, driven from the calling thread: idle ones, ones that all
// send at once, ones that drip, pour without end or never read. Also the generator for the limits
// of connections: 10,000 idle ones need several source addresses (127.0.0.N).
#pragma once

#include <string>
#include <vector>

#include "test/rigs/lib/http.h"
#include "test/rigs/lib/net.h"

namespace steelyard::rigs {

struct CrowdOptions {
  Endpoint to;
  std::size_t connections = 1000;
  int sources = 1;      // loopback addresses to come from
  std::string request;  // sent once: on connect, or by send_all when nothing else is set
  std::string drip;     // a byte of it every 100 ms, from the start again at its end
  std::string pour;     // again and again, `pour_gap` after the last was taken
  Span pour_gap = std::chrono::microseconds(200);
  std::uint64_t pour_most = ~0ULL;  // bytes of it; then the connection is done
  bool deaf = false;                // answers are not read (a small receive buffer)
  bool sip = false;                 // a read of at most 4 KiB every 250 ms
  double per_second = 0;            // connects; 0: as fast as they come up
};

class Crowd {
 public:
  explicit Crowd(CrowdOptions options);
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd();

  // Until all are connected, or the time is over.
  bool open_all(double most_s);
  void run(double seconds);
  void send_all();  // `request`, on each connection
  // On `count` of them from `first` on; answers are counted and timed from here.
  void send_some(std::size_t first, std::size_t count);
  bool run_until_answered(double most_s);
  bool run_until_answers(std::size_t count, double most_s);
  void close();

  [[nodiscard]] std::size_t opened() const { return opened_; }
  [[nodiscard]] std::size_t open_now() const;
  [[nodiscard]] std::size_t answered() const { return took_us_.size(); }
  [[nodiscard]] std::uint64_t poured() const { return poured_; }
  [[nodiscard]] double quantile_ms(double q);  // from send_all to the whole answer

 private:
  struct Member {
    std::shared_ptr<Wire> wire;
    MessageReader reader{MessageReader::Kind::kAnswer};
    std::size_t dripped = 0;
    std::uint64_t poured = 0;
    bool connected = false;
  };
  void start();
  void connected(Member& member);
  void pour(Member& member);
  void drip();
  void sip();

  CrowdOptions options_;
  Loop loop_;
  std::vector<std::unique_ptr<Member>> members_;
  std::size_t opened_ = 0;
  std::uint64_t poured_ = 0;
  Time sent_{}, began_ = Clock::now();
  std::vector<std::int64_t> took_us_;
};

// All of them at the same time, each on a thread of its own.
void run_together(const std::vector<Crowd*>& crowds, double seconds);

}  // namespace steelyard::rigs
