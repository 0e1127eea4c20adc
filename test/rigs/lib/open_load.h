// An open-loop load over HTTP/1 keep-alive connections: requests are due at fixed times, whatever
// the answers do, and a latency runs from the moment the request was due, so that a stalled server
// cannot hide by being asked less (no coordinated omission).
//
// Cheap: one thread, edge-triggered epoll, one send and one receive a request, no allocation after
// the start. Answers need Content-Length; only whole 200s of the expected length are good.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/base/histogram.h"

#include "test/rigs/lib/net.h"

namespace steelyard::rigs {

struct OpenLoadOptions {
  Endpoint to;
  double rate = 1000;            // requests a second
  std::size_t connections = 64;  // when all are busy, requests wait and their time runs
  std::string path = "/64";
  std::size_t post = 0;  // bytes of a body; 0: GET
  bool close = false;    // a new connection for each request, which the server closes
};

struct OpenLoadResult {
  std::uint64_t due = 0, good = 0, bad = 0, refused_503 = 0, connect_failures = 0;
  std::uint64_t broken = 0;  // of the bad: the connection ended before the answer did
  std::uint64_t left = 0;    // due, but without an outcome at the end
  double seconds = 0;
  base::Histogram latency;  // of the good ones
  base::Histogram refusal;  // of the 503s
};

class OpenLoad {
 public:
  explicit OpenLoad(OpenLoadOptions options);
  OpenLoad(const OpenLoad&) = delete;
  OpenLoad& operator=(const OpenLoad&) = delete;
  ~OpenLoad();

  bool open();
  // Runs for that long at the given rate; what is under way at the end gets `grace_s` more.
  [[nodiscard]] OpenLoadResult run(double seconds, double grace_s = 1);
  void rate(double per_second) { options_.rate = per_second; }

 private:
  struct Connection {
    int fd = -1;
    bool busy = false, in_body = false, connecting = false;
    bool last = false;     // its answer says that the server closes behind it
    bool closing = false;  // answered, the server's FIN is to come
    Time due;
    int status = 0;
    std::size_t left = 0;
    std::string head;
  };
  bool connect(Connection& connection);
  void ask(Connection& connection, Time due);
  void ready(Connection& connection, std::uint32_t events);
  bool take(Connection& connection, std::string_view bytes);
  void finish(Connection& connection);
  void again(Connection& connection, bool failed);

  OpenLoadOptions options_;
  int epoll_;
  std::string request_;
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> idle_;
  std::deque<Time> waiting_;
  std::size_t busy_ = 0;
  OpenLoadResult out_;
  std::string buffer_;
};

}  // namespace steelyard::rigs
