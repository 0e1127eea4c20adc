// The load of the proxy benchmark: so many connections through a proxy, in one of two ways.
//
//   closed  each connection asks again as soon as its answer is complete
//   open    requests are due at fixed times, whatever the answers do; a request that finds no free
//           connection waits, and its latency counts from when it was due
//
// An answer that is not 200, of another length than expected, broken off or never complete is an
// error.
#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <deque>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "histogram.h"
#include "ring.h"

namespace bench {

struct Plan {
  int port = 0;
  unsigned connections = 64;
  std::string path = "/64";
  std::string fields;  // further lines of the head, each with its CRLF
  std::size_t expect = 64;
  std::size_t post = 0;
  bool close = false;
  double rate = 0;                 // requests a second; 0: closed loop
  std::uint64_t most = 0;          // requests; 0: no limit
  std::uint64_t together = ~0ULL;  // requests under way at most
};

class Load {
 public:
  Load(Ring& ring, Plan plan)
      : ring_(ring), plan_(std::move(plan)), connections_(plan_.connections) {
    request_ = (plan_.post > 0 ? "POST " : "GET ") + plan_.path +
               " HTTP/1.1\r\nHost: bench.example\r\n" + plan_.fields;
    if (plan_.close) request_ += "Connection: close\r\n";
    if (plan_.post > 0) request_ += "Content-Length: " + std::to_string(plan_.post) + "\r\n";
    request_ += "\r\n" + std::string(plan_.post, 'p');
    group_ = plan_.expect > 1024 ? kMiddle : kSmall;
    if (large()) scratch_.resize(plan_.expect);
  }

  bool open(long long now) {
    opened_ = now;
    for (unsigned i = 0; i < connections_.size(); ++i) {
      if (!connect(i)) return false;
      free_.push_back(i);
    }
    return true;
  }

  // Asks what is due.
  void advance(long long now) {
    while (!free_.empty() && !stopping_ && (plan_.most == 0 || asked < plan_.most) &&
           asked - finished - errors < plan_.together) {
      auto due = now;
      if (plan_.rate > 0) {
        due = opened_ + static_cast<long long>(static_cast<double>(asked) / plan_.rate * 1e9);
        if (due > now) return;
      }
      const auto i = free_.front();
      free_.pop_front();
      ask(i, due);
    }
  }

  void on_bytes(const io_uring_cqe& cqe, Tag of, long long now) {
    Connection* const c = find(of);
    if (c != nullptr && cqe.res == -ENOBUFS) return arm(of.index);
    bool good = c != nullptr && cqe.res > 0;
    if (good) {
      const auto size = static_cast<std::size_t>(cqe.res);
      if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
        good = take(*c, {ring_.text(of.group, cqe), size});
      } else if (c->in_body) {  // dropped unseen
        good = drop(*c, size);
      } else {
        good = take(*c, {c->head.data(), size});
      }
    }
    ring_.give_back(of.group, cqe);
    if (c == nullptr) return;
    const bool more = (cqe.flags & IORING_CQE_F_MORE) != 0;
    if (!good) return fail(of.index, more);
    const bool complete = c->in_body && c->left == 0 && !c->free;
    if (complete) finish(of.index, now);
    if (!more && !(complete && one_by_one())) arm(of.index);
  }

  void on_send_failed(Tag of) {
    if (find(of) != nullptr) fail(of.index, true);
  }

  // From here on nothing is asked.
  void stop() { stopping_ = true; }
  [[nodiscard]] bool done() const { return plan_.most > 0 && finished + errors >= plan_.most; }
  [[nodiscard]] bool quiet() const { return asked == finished + errors; }
  // Those still without an answer are errors.
  void close_all() {
    errors += asked - finished - errors;
    for (unsigned i = 0; i < connections_.size(); ++i) disconnect(i, true);
  }
  void start_counting() {
    counted_from_ = finished;
    latency.clear();
  }
  [[nodiscard]] std::uint64_t counted() const { return finished - counted_from_; }
  [[nodiscard]] bool connected() const { return !refused_; }

  std::uint64_t asked = 0;
  std::uint64_t finished = 0;
  std::uint64_t errors = 0;
  Histogram latency;

 private:
  static constexpr std::size_t kHeadRoom = 4096;

  struct Connection {
    int fd = -1;
    unsigned generation = 0;
    long long due = 0;
    bool free = true;
    bool in_body = false;
    std::size_t left = 0;
    std::string partial;  // of a head
    std::string head;     // large answers are received into it until their head is complete
  };

  [[nodiscard]] bool one_by_one() const { return plan_.close || large(); }
  [[nodiscard]] bool large() const { return plan_.expect > 16384; }
  [[nodiscard]] Tag tag(Kind kind, unsigned i) const {
    return {kind, i, connections_[i].generation, group_};
  }
  Connection* find(Tag of) {
    if (of.index >= connections_.size()) return nullptr;
    Connection& c = connections_[of.index];
    return c.fd >= 0 && (c.generation & Tag::kGenerations) == of.generation ? &c : nullptr;
  }

  // Blocking: on the loopback a connect is over when the call returns.
  bool connect(unsigned i) {
    Connection& c = connections_[i];
    c.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (!plan_.close) ::setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(plan_.port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c.generation = ++generations_;
    c.partial.clear();
    if (::connect(c.fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
      refused_ = true;
      return false;
    }
    if (!one_by_one()) arm(i);
    return true;
  }

  // Many answers by one receive where connections last; else one at a time, since an armed receive
  // would hold the socket open.
  void arm(unsigned i) {
    Connection& c = connections_[i];
    const auto t = tag(Kind::kLoad, i);
    if (!large()) {
      plan_.close ? ring_.receive_once(c.fd, t) : ring_.receive_many(c.fd, t);
    } else if (c.in_body) {  // MSG_TRUNC on TCP: dropped in the kernel, not copied
      ring_.receive_into(c.fd, scratch_.data(), c.left, MSG_TRUNC, t);
    } else {
      c.head.resize(kHeadRoom);
      ring_.receive_into(c.fd, c.head.data(), kHeadRoom, 0, t);
    }
  }

  void ask(unsigned i, long long due) {
    Connection& c = connections_[i];
    ++asked;
    c.due = due;
    c.free = false;
    c.in_body = false;
    ring_.send(c.fd, request_.data(), request_.size(), tag(Kind::kLoadSend, i));
    if (one_by_one()) arm(i);
  }

  bool take(Connection& c, std::string_view bytes) {
    if (c.free) return false;  // nobody asked
    if (c.in_body) return drop(c, bytes.size());
    if (!c.partial.empty()) bytes = c.partial.append(bytes);
    const void* const at = ::memmem(bytes.data(), bytes.size(), "\r\n\r\n", 4);
    if (at == nullptr) {
      if (c.partial.empty()) c.partial = bytes;
      return c.partial.size() < kHeadRoom;
    }
    const auto head = static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data()) + 4;
    c.in_body = true;
    c.left = plan_.expect;
    const bool good = bytes.starts_with("HTTP/1.1 200 ") && drop(c, bytes.size() - head);
    c.partial.clear();
    return good;
  }
  static bool drop(Connection& c, std::size_t size) {
    if (size > c.left) return false;
    c.left -= size;
    return true;
  }

  void finish(unsigned i, long long now) {
    Connection& c = connections_[i];
    ++finished;
    latency.add(static_cast<std::uint64_t>(std::max(now - c.due, 0LL)));
    c.free = true;
    if (plan_.close) {
      disconnect(i, false);
      if (!connect(i)) return;
    }
    free_.push_back(i);
  }

  void fail(unsigned i, bool armed) {
    Connection& c = connections_[i];
    if (!c.free) ++errors;
    c.free = true;
    disconnect(i, armed);
    if (connect(i)) free_.push_back(i);
  }

  void disconnect(unsigned i, bool armed) {
    Connection& c = connections_[i];
    if (c.fd < 0) return;
    if (armed) {
      ring_.flush();  // nothing may be submitted for a descriptor that is another's by then
      ::shutdown(c.fd, SHUT_RDWR);
    }
    ::close(c.fd);
    c.fd = -1;
  }

  Ring& ring_;
  Plan plan_;
  std::string request_;
  std::vector<Connection> connections_;
  std::deque<unsigned> free_;
  std::string scratch_;
  Group group_ = kSmall;
  long long opened_ = 0;
  bool stopping_ = false;
  bool refused_ = false;
  std::uint64_t counted_from_ = 0;
  static inline unsigned generations_ = 0;
};

}  // namespace bench
