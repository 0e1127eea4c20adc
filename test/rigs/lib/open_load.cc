#include "test/rigs/lib/open_load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace steelyard::rigs {
namespace {

Span span_of(double seconds) {
  return std::chrono::duration_cast<Span>(std::chrono::duration<double>(seconds));
}

// The value of the first field of that name; empty without one.
std::string_view value_in(std::string_view head, std::string_view name) {
  for (auto at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
    auto line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        ::strncasecmp(line.data(), name.data(), name.size()) != 0) {
      continue;
    }
    line.remove_prefix(name.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return line;
  }
  return {};
}

std::size_t length_in(std::string_view head) {
  const auto value = value_in(head, "content-length");
  std::size_t out = 0;
  (void)std::from_chars(value.data(), value.data() + value.size(), out);
  return out;
}

}  // namespace

OpenLoad::OpenLoad(OpenLoadOptions options)
    : options_(std::move(options)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      connections_(options_.connections),
      buffer_(1 << 18, '\0') {
  request_ = (options_.post > 0 ? "POST " : "GET ") + options_.path +
             " HTTP/1.1\r\nHost: load.example\r\nUser-Agent: openload\r\nAccept: */*\r\n";
  if (options_.close) request_ += "Connection: close\r\n";
  if (options_.post > 0) request_ += "Content-Length: " + std::to_string(options_.post) + "\r\n";
  request_ += "\r\n" + std::string(options_.post, 'p');
}

OpenLoad::~OpenLoad() {
  for (const auto& one : connections_) {
    if (one.fd >= 0) ::close(one.fd);
  }
  ::close(epoll_);
}

bool OpenLoad::open() {
  for (std::size_t i = connections_.size(); i-- > 0;) {
    if (!options_.close && !connect(connections_[i])) return false;
    idle_.push_back(static_cast<std::uint32_t>(i));
  }
  return true;
}

bool OpenLoad::connect(Connection& connection) {
  connection.fd = start_connect(options_.to);
  if (connection.fd < 0) return false;
  connection.connecting = true;
  connection.in_body = false;
  connection.head.clear();
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u32 = static_cast<std::uint32_t>(&connection - connections_.data());
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event) == 0;
}

void OpenLoad::ask(Connection& connection, Time due) {
  connection.due = due;
  connection.in_body = false;
  connection.busy = true;
  ++busy_;
  if (connection.fd < 0 && !connect(connection)) {
    ++out_.connect_failures;
    return again(connection, true);
  }
  const ssize_t sent =
      ::send(connection.fd, request_.data(), request_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // On the loopback a connect is over at once; what does not fit the buffer is too large for us.
  if (sent != static_cast<ssize_t>(request_.size())) again(connection, true);
}

// The connection is of no more use.
void OpenLoad::again(Connection& connection, bool failed) {
  if (connection.busy) {
    if (failed) ++out_.bad, ++out_.broken;
    --busy_;
  }
  ::close(connection.fd);
  connection.fd = -1;
  const bool was_busy = std::exchange(connection.busy, false);
  const bool was_closing = std::exchange(connection.closing, false);
  if (!options_.close) (void)connect(connection);
  if (was_busy || was_closing)
    idle_.push_back(static_cast<std::uint32_t>(&connection - connections_.data()));
}

void OpenLoad::ready(Connection& connection, std::uint32_t events) {
  connection.connecting = false;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0) return;
  for (;;) {
    const ssize_t got = ::recv(connection.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return again(connection, true);
    const auto size = static_cast<std::size_t>(got);
    if (!connection.busy || !take(connection, {buffer_.data(), size})) {
      return again(connection, true);
    }
    if (!connection.busy && !connection.closing) return;
    if (size < buffer_.size() && (events & EPOLLRDHUP) == 0) return;
  }
}

// False when it is no answer.
bool OpenLoad::take(Connection& connection, std::string_view bytes) {
  if (!connection.in_body) {
    if (!connection.head.empty()) bytes = connection.head.append(bytes);
    const auto end = bytes.find("\r\n\r\n");
    if (end == bytes.npos) {
      if (connection.head.empty()) connection.head = bytes;
      return connection.head.size() < 65536;
    }
    const auto head = bytes.substr(0, end + 2);
    if (!head.starts_with("HTTP/1.1 ")) return false;
    (void)std::from_chars(head.data() + 9, head.data() + 12, connection.status);
    connection.left = length_in(head);
    connection.last = value_in(head, "connection") == "close";
    connection.in_body = true;
    bytes.remove_prefix(end + 4);
  }
  if (bytes.size() > connection.left) return false;
  connection.left -= bytes.size();
  connection.head.clear();
  if (connection.left == 0) finish(connection);
  return true;
}

void OpenLoad::finish(Connection& connection) {
  const auto took = Clock::now() - connection.due;
  if (connection.status == 200) {
    ++out_.good;
    out_.latency.add(took);
  } else if (connection.status == 503) {
    ++out_.refused_503;
    out_.refusal.add(took);
  } else {
    ++out_.bad;
  }
  --busy_;
  connection.busy = false;
  // Whoever closes first keeps the port for a minute.
  connection.closing = options_.close || connection.last;
  if (connection.closing) return;
  idle_.push_back(static_cast<std::uint32_t>(&connection - connections_.data()));
}

OpenLoadResult OpenLoad::run(double seconds, double grace_s) {
  out_ = {};
  std::array<epoll_event, 256> batch;
  const auto gap = span_of(1 / options_.rate);
  const auto began = Clock::now();
  const auto last = began + span_of(seconds), end = last + span_of(grace_s);
  for (auto due = began;;) {
    auto now = Clock::now();
    for (; due <= now && due < last; due += gap) {
      ++out_.due;
      waiting_.push_back(due);
    }
    while (!waiting_.empty() && !idle_.empty()) {
      auto& connection = connections_[idle_.back()];
      idle_.pop_back();
      const auto when = waiting_.front();
      waiting_.pop_front();
      ask(connection, when);
    }
    now = Clock::now();
    if (now >= end || (due >= last && waiting_.empty() && busy_ == 0)) break;
    const auto wait = std::max(Span{}, (due < last ? std::min(due, end) : end) - now);
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(wait).count();
    const timespec most{ns / 1'000'000'000, ns % 1'000'000'000};
    const int count =
        ::epoll_pwait2(epoll_, batch.data(), static_cast<int>(batch.size()), &most, nullptr);
    for (int i = 0; i < count; ++i) {
      const auto& event = batch[static_cast<std::size_t>(i)];
      auto& connection = connections_[event.data.u32];
      if (connection.fd >= 0) ready(connection, event.events);
    }
  }
  out_.left = waiting_.size() + busy_;
  waiting_.clear();
  out_.seconds = std::chrono::duration<double>(std::min(Clock::now(), last) - began).count();
  return out_;
}

}  // namespace steelyard::rigs
