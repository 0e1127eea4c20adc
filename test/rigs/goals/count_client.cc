#include "test/rigs/goals/count_client.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/rigs/goals/pattern.h"

namespace steelyard::rigs {
namespace {

constexpr unsigned kLife = 1000;  // requests of a connection
constexpr int kSilence_ms = 15'000;

std::string hex(std::uint64_t value) {
  char text[20];
  (void)std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string_view field_of(std::string_view head, std::string_view name) {
  const auto at = head.find(name);
  if (at == head.npos) return {};
  const auto from = at + name.size();
  return head.substr(from, head.find('\r', from) - from);
}

}  // namespace

CountClient::CountClient(CountLedger& ledger, const Endpoint& to, std::size_t connections,
                         std::uint64_t seed)
    : ledger_(ledger),
      to_(to),
      rng_(seed),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      connections_(connections),
      buffer_(1 << 17, '\0') {}

CountClient::~CountClient() {
  for (const auto& one : connections_) {
    if (one.fd >= 0) ::close(one.fd);
  }
  ::close(epoll_);
}

void CountClient::watch(const Connection& connection, int how) const {
  epoll_event event{};
  event.events = EPOLLIN | (connection.writing ? EPOLLOUT : 0U);
  event.data.u32 = static_cast<std::uint32_t>(&connection - connections_.data());
  (void)::epoll_ctl(epoll_, how, connection.fd, &event);
}

void CountClient::run() {
  for (auto& connection : connections_) ask(connection);
  std::array<epoll_event, 256> batch;
  while (busy_ > 0) {
    const int count =
        ::epoll_wait(epoll_, batch.data(), static_cast<int>(batch.size()), kSilence_ms);
    if (count == 0) return;
    for (int i = 0; i < count; ++i) {
      const auto& event = batch[static_cast<std::size_t>(i)];
      auto& connection = connections_[event.data.u32];
      if (connection.fd >= 0) ready(connection, event.events);
    }
  }
}

// The next id, on this connection or a new one.
void CountClient::ask(Connection& connection) {
  if (next_ == ledger_.ids()) return;
  connection.id = next_++;
  connection.nonce = rng_();
  connection.size = rng_.below(100) == 0 ? 16384 : rng_.below(2049);
  connection.got = 0;
  connection.in_body = false;
  connection.right = true;
  connection.head.clear();
  const bool post = rng_.below(4) == 0;
  auto& out = connection.out;
  out = post ? "POST /ledger/" : "GET /ledger/";
  out += std::to_string(connection.id) + "/" + hex(connection.nonce) + "/" +
         std::to_string(connection.size) + " HTTP/1.1\r\nHost: ledger.example\r\n";
  if (post) {
    const auto size = static_cast<std::size_t>(rng_.below(2049));
    out += "Content-Length: " + std::to_string(size) + "\r\n\r\n";
    for (std::size_t at = 0; at < size;) {
      const auto part = Pattern::from(connection.nonce + at, size - at);
      out += part;
      at += part.size();
    }
  } else {
    out += "\r\n";
  }
  connection.busy = true;
  ++busy_;
  if (connection.fd < 0) {
    connection.fd = start_connect(to_);
    connection.asked = 0;
    connection.writing = true;
    if (connection.fd < 0) return again(connection);
    watch(connection, EPOLL_CTL_ADD);
  }
  ++connection.asked;
  if (!flush(connection)) again(connection);
}

bool CountClient::flush(Connection& connection) {
  const ssize_t sent = ::send(connection.fd, connection.out.data(), connection.out.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN && errno != ENOTCONN) return false;
  if (sent > 0) connection.out.erase(0, static_cast<std::size_t>(sent));
  const bool writing = !connection.out.empty();
  if (writing != connection.writing) {
    connection.writing = writing;
    watch(connection, EPOLL_CTL_MOD);
  }
  return true;
}

void CountClient::again(Connection& connection) {
  if (connection.fd >= 0) ::close(connection.fd);
  connection.fd = -1;
  if (!connection.busy) return;
  connection.busy = false;
  --busy_;
  ++failed_;
  // Where nothing can be reached this would never end otherwise than by the ids.
  ask(connection);
}

void CountClient::ready(Connection& connection, std::uint32_t events) {
  if (connection.writing && (events & EPOLLOUT) != 0 && !flush(connection)) {
    return again(connection);
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  const ssize_t got = ::recv(connection.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0 || !take(connection, {buffer_.data(), static_cast<std::size_t>(got)})) {
    again(connection);
  }
}

// False when the connection is over, or what came is no answer to what was asked.
bool CountClient::take(Connection& connection, std::string_view bytes) {
  if (!connection.busy) {  // nobody asked for it
    ledger_.answered(connection.id, false);
    return false;
  }
  if (!connection.in_body) {
    if (!connection.head.empty()) bytes = connection.head.append(bytes);
    const auto end = bytes.find("\r\n\r\n");
    if (end == bytes.npos) {
      if (connection.head.empty()) connection.head = bytes;
      return connection.head.size() < 65536;
    }
    if (!read_head(connection, bytes.substr(0, end + 2))) return false;
    bytes.remove_prefix(end + 4);
  }
  if (bytes.size() > connection.size - connection.got) {
    ledger_.answered(connection.id, false);
    return false;
  }
  connection.right = connection.right && Pattern::holds(connection.nonce + connection.got, bytes);
  connection.got += bytes.size();
  if (connection.got < connection.size) return true;
  ledger_.answered(connection.id, connection.right);
  connection.busy = false;
  --busy_;
  if (connection.asked == kLife) again(connection);
  ask(connection);
  return true;
}

bool CountClient::read_head(Connection& connection, std::string_view head) {
  if (!head.starts_with("HTTP/1.1 200 ")) return false;
  const auto length = field_of(head, "Content-Length: ");
  std::size_t size = 0;
  (void)std::from_chars(length.data(), length.data() + length.size(), size);
  connection.in_body = true;
  connection.right =
      field_of(head, "X-Nonce: ") == hex(connection.nonce) && size == connection.size;
  // Another's answer may be of another length: it is read to its own end, so that it counts.
  if (size != connection.size) connection.size = size;
  return true;
}

}  // namespace steelyard::rigs
