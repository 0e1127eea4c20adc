// Plain blocking sockets on loopback for tests: a client that reads one answer at a time, and a
// node scripted by a function. Independent of the code under test on purpose.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace steelyard::integration {

// A message as read: start line, fields (names in lower case; repeated ones joined by a comma),
// body, trailers.
struct Message {
  std::string start;
  std::map<std::string, std::string> fields;
  std::string body;
  std::map<std::string, std::string> trailers;
  bool chunked = false;

  [[nodiscard]] int status() const;          // of an answer
  [[nodiscard]] std::string method() const;  // of a request
  [[nodiscard]] std::string target() const;  // of a request
  [[nodiscard]] std::string field(const std::string& name) const;
};

// Nobody listens there: a connect fails at once, and does not just wait.
[[nodiscard]] bool refuses(std::uint16_t port);

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  static Socket connect(std::uint16_t port);
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  bool send(std::string_view text);
  void end();    // FIN
  void reset();  // RST
  void close();
  // Reads until `buffer` has `size` bytes; false at the end or after 10 s.
  bool fill(std::size_t size);
  // Empty when the connection ended or broke first. `head_only`: an answer to HEAD.
  std::optional<Message> read(bool request, bool head_only = false);
  std::optional<Message> read_head(bool request);  // its body is left
  bool read_body(Message& message, bool request, bool head_only = false);
  // What comes until the connection ends; nothing when it breaks.
  std::optional<std::string> rest();
  [[nodiscard]] bool at_end();  // ended without another byte
  [[nodiscard]] int fd() const { return fd_; }
  std::string buffer;  // read, not yet used

 private:
  bool more();
  bool read_chunked(Message& message);
  int fd_ = -1;
};

// A node: one thread a connection, which calls `serve` with each; counts what it got.
class Node {
 public:
  using Serve = std::function<void(Node& node, Socket& socket)>;
  explicit Node(Serve serve, std::uint16_t port = 0);
  ~Node() { kill(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  void kill();  // as kill -9 does: every connection is reset, the port refuses

  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> connections{0};
  std::atomic<bool> dead{false};

 private:
  void accept_all();
  int listener_ = -1;
  std::uint16_t port_ = 0;
  Serve serve_;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// Answers by path, keep-alive:
//   /echo            the body as it came, with its length      /chunked  the body in chunks, with a
//   trailer X-Sum /size/N          N bytes of a pattern                      /none/204, /none/304
//   no body /continue        100, then the echo                        /status/N   an answer with
//   that status anything else    "ok"
void serve_http(Node& node, Socket& socket);
[[nodiscard]] std::string pattern(std::size_t size, std::uint64_t seed = 1);

}  // namespace steelyard::integration
