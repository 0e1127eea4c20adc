// Simple blocking helpers for end-to-end tests: scripted HTTP back ends, a keep-alive client,
// temporary directories, child processes and waiting with a deadline. A thread a connection;
// loopback only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace steelyard::e2e {

// An HTTP/1.1 server on a free port that answers every request with its name.
class Backend {
 public:
  explicit Backend(std::string name);
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  ~Backend();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t hits() const noexcept { return hits_; }
  void status(int code) noexcept { status_ = code; }
  void delay(std::chrono::milliseconds time) noexcept { delay_ms_ = time.count(); }

 private:
  void accept_loop();
  void serve(int fd);

  std::string name_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<int> status_{200};
  std::atomic<std::int64_t> delay_ms_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::vector<int> open_;  // connections, to be shut down at the end
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

struct Response {
  int status = 0;                              // 0: no answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string error;  // in words, when there is no answer
};

// A client on one keep-alive connection, made anew when it was closed.
class Client {
 public:
  explicit Client(std::uint16_t port, std::chrono::milliseconds timeout = std::chrono::seconds(5))
      : port_(port), timeout_(timeout) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(); }

  // GET; resent once, on a new connection, when a reused connection was closed without any answer.
  [[nodiscard]] Response get(const std::string& path, const std::string& host = "localhost");
  // Any request as bytes, on the connection of the moment; one answer is read.
  [[nodiscard]] Response send(std::string_view request, bool head = false);
  void close();
  [[nodiscard]] std::uint64_t resent() const noexcept { return resent_; }
  [[nodiscard]] std::uint64_t connects() const noexcept { return connects_; }

 private:
  bool connect();
  bool fill();
  Response read(bool head);
  Response failed(std::string why);

  std::uint16_t port_;
  std::chrono::milliseconds timeout_;
  int fd_ = -1;
  std::string buffer_;
  std::uint64_t resent_ = 0;
  std::uint64_t connects_ = 0;
};

class TempDir {
 public:
  TempDir();  // mode 0755
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return (path_ / name).string();
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// The processes that a process has started, as the kernel tells.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

// A program started with an argument vector, output and errors into a file; killed at the end, with
// its children: an engine goes on without its supervisor.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const std::string& output);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();
  void signal(int number) const;
  // Exit status, or 128 + signal; -1 when it still runs after `most`.
  [[nodiscard]] int wait(std::chrono::milliseconds most);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  pid_t pid_ = -1;
  int result_ = -1;
};

// Runs a program to its end; its exit status.
[[nodiscard]] int run(const std::vector<std::string>& arguments, const std::string& output,
                      std::chrono::milliseconds most = std::chrono::seconds(20));

[[nodiscard]] std::string read_text(const std::string& path);
void write_text(const std::string& path, std::string_view text);
// A port that was free a moment ago, for programs that cannot take port 0.
[[nodiscard]] std::uint16_t free_port();
[[nodiscard]] bool wait_until(const std::function<bool()>& done, std::chrono::milliseconds most);

}  // namespace steelyard::e2e
