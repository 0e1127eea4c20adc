#include "test/integration/net.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "steelyard/base/rng.h"

namespace steelyard::integration {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void set_reset(int fd) {
  const linger now{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void parse_fields(std::string_view lines, std::map<std::string, std::string>& to) {
  while (!lines.empty()) {
    const auto end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name = lower(std::string(line.substr(0, colon)));
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    auto& slot = to[name];
    slot += (slot.empty() ? "" : ", ") + std::string(value);
  }
}

}  // namespace

int Message::status() const { return start.size() > 12 ? std::atoi(start.c_str() + 9) : 0; }
std::string Message::method() const { return start.substr(0, start.find(' ')); }
std::string Message::target() const {
  const auto from = start.find(' ') + 1;
  return start.substr(from, start.find(' ', from) - from);
}
std::string Message::field(const std::string& name) const {
  const auto at = fields.find(name);
  return at == fields.end() ? "" : at->second;
}

Socket::Socket(Socket&& other) noexcept
    : buffer(std::move(other.buffer)), fd_(std::exchange(other.fd_, -1)) {}
Socket& Socket::operator=(Socket&& other) noexcept {
  close();
  fd_ = std::exchange(other.fd_, -1);
  buffer = std::move(other.buffer);
  return *this;
}

bool refuses(std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto at = loopback(port);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return false;
  if (errno != EINPROGRESS) return errno == ECONNREFUSED;
  pollfd ready{socket.fd(), POLLOUT, 0};
  if (::poll(&ready, 1, 200) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == ECONNREFUSED;
}

Socket Socket::connect(std::uint16_t port) {
  Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(made.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto at = loopback(port);
  if (::connect(made.fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) made.close();
  return made;
}

bool Socket::send(std::string_view text) {
  while (!text.empty()) {
    const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Socket::end() { ::shutdown(fd_, SHUT_WR); }
void Socket::reset() {
  set_reset(fd_);
  close();
}
void Socket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool Socket::more() {
  pollfd wait{fd_, POLLIN, 0};
  if (::poll(&wait, 1, 10'000) <= 0) return false;
  std::array<char, 65536> bytes;
  const auto got = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  buffer.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

bool Socket::fill(std::size_t size) {
  while (buffer.size() < size) {
    if (!more()) return false;
  }
  return true;
}

std::optional<Message> Socket::read_head(bool /*request*/) {
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return std::nullopt;
  }
  Message message;
  const std::string head = buffer.substr(0, end);
  buffer.erase(0, end + 4);
  message.start = head.substr(0, head.find("\r\n"));
  if (head.size() > message.start.size()) {
    parse_fields(std::string_view(head).substr(message.start.size() + 2), message.fields);
  }
  message.chunked = message.field("transfer-encoding") == "chunked";
  return message;
}

bool Socket::read_chunked(Message& message) {
  for (;;) {
    std::size_t end = 0;
    while ((end = buffer.find("\r\n")) == std::string::npos) {
      if (!more()) return false;
    }
    const auto size = std::strtoul(buffer.c_str(), nullptr, 16);
    buffer.erase(0, end + 2);
    if (size == 0) break;
    if (!fill(size + 2) || buffer.substr(size, 2) != "\r\n") return false;
    message.body.append(buffer, 0, size);
    buffer.erase(0, size + 2);
  }
  std::string lines;
  for (;;) {
    std::size_t end = 0;
    while ((end = buffer.find("\r\n")) == std::string::npos) {
      if (!more()) return false;
    }
    const std::string line = buffer.substr(0, end + 2);
    buffer.erase(0, end + 2);
    if (line == "\r\n") break;
    lines += line;
  }
  parse_fields(lines, message.trailers);
  return true;
}

bool Socket::read_body(Message& message, bool request, bool head_only) {
  const int status = request ? 0 : message.status();
  if (head_only || status == 204 || status == 304 || (status >= 100 && status < 200)) return true;
  if (message.chunked) return read_chunked(message);
  const std::string length = message.field("content-length");
  if (length.empty()) {
    if (request) return true;
    while (more()) {
    }
    message.body = std::exchange(buffer, {});
    return true;
  }
  const auto size = std::strtoul(length.c_str(), nullptr, 10);
  if (!fill(size)) return false;
  message.body = buffer.substr(0, size);
  buffer.erase(0, size);
  return true;
}

std::optional<Message> Socket::read(bool request, bool head_only) {
  auto message = read_head(request);
  if (!message || !read_body(*message, request, head_only)) return std::nullopt;
  return message;
}

std::optional<std::string> Socket::rest() {
  for (;;) {
    std::array<char, 65536> bytes;
    pollfd wait{fd_, POLLIN, 0};
    if (::poll(&wait, 1, 10'000) <= 0) return std::nullopt;
    const auto got = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (got < 0) return std::nullopt;
    if (got == 0) return std::exchange(buffer, {});
    buffer.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

bool Socket::at_end() {
  const auto left = rest();
  return left.has_value() && left->empty();
}

Node::Node(Serve serve, std::uint16_t port) : serve_(std::move(serve)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  auto at = loopback(port);
  socklen_t size = sizeof at;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(listener_, 1024) != 0) {
    std::abort();
  }
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
  port_ = ntohs(at.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

void Node::accept_all() {
  for (;;) {
    pollfd wait{listener_, POLLIN, 0};
    if (::poll(&wait, 1, 10) <= 0) {
      if (dead) return;
      continue;
    }
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    if (dead) {
      set_reset(fd);
      ::close(fd);
      return;
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ++connections;
    open_.push_back(fd);
    threads_.emplace_back([this, fd] {
      Socket socket(fd);
      serve_(*this, socket);
      const std::lock_guard held(mutex_);
      std::erase(open_, fd);
      if (dead) set_reset(fd);
      socket.close();
    });
  }
}

void Node::kill() {
  if (dead.exchange(true)) return;
  {
    const std::lock_guard lock(mutex_);
    ::shutdown(listener_, SHUT_RDWR);
    for (const int fd : open_) {
      set_reset(fd);
      ::shutdown(fd, SHUT_RDWR);
    }
  }
  acceptor_.join();
  ::close(listener_);
  for (auto& thread : threads_) thread.join();
}

std::string pattern(std::size_t size, std::uint64_t seed) {
  base::Rng rng(seed);
  std::string text(size, '\0');
  for (auto& c : text) c = static_cast<char>('a' + rng.below(26));
  return text;
}

namespace {

std::string with_length(std::string_view status, std::string_view body) {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string(body);
}

std::string answer_to(const Message& request) {
  const std::string target = request.target();
  if (request.method() == "HEAD") return "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
  if (target == "/none/204") return "HTTP/1.1 204 No Content\r\n\r\n";
  if (target == "/none/304") {
    return "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 77\r\n\r\n";
  }
  if (target.starts_with("/size/")) {
    return with_length("200 OK", pattern(std::stoul(target.substr(6))));
  }
  if (target.starts_with("/status/"))
    return with_length(target.substr(8) + " As-Asked", "as asked");
  if (target == "/chunked") {
    std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n";
    for (std::size_t at = 0; at < request.body.size(); at += 7) {
      const std::string piece = request.body.substr(at, 7);
      text += std::to_string(piece.size()) + "\r\n" + piece + "\r\n";
    }
    return text + "0\r\nX-Sum: " + std::to_string(request.body.size()) + "\r\n\r\n";
  }
  if (target == "/echo" || target == "/continue") return with_length("200 OK", request.body);
  return with_length("200 OK", "ok");
}

}  // namespace

void serve_http(Node& node, Socket& socket) {
  for (;;) {
    auto request = socket.read_head(true);
    if (!request) return;
    if (request->target() == "/continue" && !socket.send("HTTP/1.1 100 Continue\r\n\r\n")) {
      return;
    }
    if (!socket.read_body(*request, true)) return;
    ++node.requests;
    if (!socket.send(answer_to(*request))) return;
  }
}

}  // namespace steelyard::integration
