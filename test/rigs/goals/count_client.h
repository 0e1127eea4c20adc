// The client of CountLedger: so many requests over so many keep-alive connections, each with its
// own nonce and size, a quarter of them POST; every thousandth on a connection ends it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/base/rng.h"

#include "test/rigs/goals/count.h"
#include "test/rigs/lib/net.h"

namespace steelyard::rigs {

class CountClient {
 public:
  CountClient(CountLedger& ledger, const Endpoint& to, std::size_t connections, std::uint64_t seed);
  CountClient(const CountClient&) = delete;
  CountClient& operator=(const CountClient&) = delete;
  ~CountClient();

  // Asks every id of the ledger once; gives up when nothing comes for 15 s.
  void run();
  // Requests that ended otherwise than with a whole 200; they count as lost in the ledger.
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  [[nodiscard]] std::uint64_t asked() const { return next_; }

 private:
  struct Connection {
    int fd = -1;
    std::uint64_t id = 0, nonce = 0;
    std::size_t size = 0, got = 0;
    int status = 0;
    unsigned asked = 0;
    bool busy = false, in_body = false, right = true, writing = false;
    std::string out, head;
  };
  void ask(Connection& connection);
  bool flush(Connection& connection);
  void ready(Connection& connection, std::uint32_t events);
  bool take(Connection& connection, std::string_view bytes);
  bool read_head(Connection& connection, std::string_view head);
  void again(Connection& connection);  // it is of no more use
  void watch(const Connection& connection, int how) const;

  CountLedger& ledger_;
  Endpoint to_;
  base::Rng rng_;
  int epoll_;
  std::vector<Connection> connections_;
  std::uint64_t next_ = 0, failed_ = 0;
  std::size_t busy_ = 0;
  std::string buffer_;
};

}  // namespace steelyard::rigs
