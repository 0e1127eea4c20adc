#include "test/e2e/support.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace steelyard::e2e {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

int listen_anywhere(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), size) != 0 || ::listen(fd, 511) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    std::abort();
  }
  port = ntohs(at.sin_port);
  return fd;
}

void no_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::map<std::string, std::string> parse_headers(std::string_view head) {
  std::map<std::string, std::string> out;
  auto at = head.find("\r\n");
  while (at != std::string_view::npos && at + 2 < head.size()) {
    const auto end = head.find("\r\n", at + 2);
    const auto line = head.substr(at + 2, end == std::string_view::npos ? end : end - at - 2);
    const auto colon = line.find(':');
    if (colon != std::string_view::npos) {
      auto value = line.substr(colon + 1);
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      out[lower(std::string(line.substr(0, colon)))] = value;
    }
    at = end;
  }
  return out;
}

}  // namespace

Backend::Backend(std::string name) : name_(std::move(name)) {
  listener_ = listen_anywhere(port_);
  acceptor_ = std::thread([this] { accept_loop(); });
}

Backend::~Backend() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (auto& t : threads_) t.join();
}

void Backend::accept_loop() {
  while (!stopping_) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    no_delay(fd);
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void Backend::serve(int fd) {
  std::string in;
  char chunk[8192];
  for (;;) {
    const auto end = in.find("\r\n\r\n");
    if (end == std::string::npos) {
      const ssize_t got = ::recv(fd, chunk, sizeof chunk, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      in.append(chunk, static_cast<std::size_t>(got));
      continue;
    }
    const bool close = lower(in.substr(0, end)).find("connection: close") != std::string::npos;
    in.erase(0, end + 4);  // requests have no body here
    ++hits_;
    if (delay_ms_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
    const std::string head = "HTTP/1.1 " + std::to_string(status_) +
                             " X\r\nContent-Length: " + std::to_string(name_.size()) + "\r\n" +
                             (close ? "Connection: close\r\n" : "") + "\r\n";
    if (!send_all(fd, head + name_) || close) break;
  }
  const std::lock_guard lock(mutex_);
  open_.erase(std::find(open_.begin(), open_.end(), fd));
  ::close(fd);
}

Response Client::get(const std::string& path, const std::string& host) {
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  const bool reused = fd_ >= 0;
  Response out = send(request);
  if (out.status == 0 && reused && buffer_.empty() && out.error == "closed") {
    ++resent_;
    out = send(request);
  }
  return out;
}

Response Client::send(std::string_view request, bool head) {
  if (fd_ < 0 && !connect()) return failed(std::string("connect: ") + std::strerror(errno));
  if (!send_all(fd_, request)) {
    const bool gone = errno == EPIPE || errno == ECONNRESET;
    return failed(gone ? "closed" : std::strerror(errno));
  }
  return read(head);
}

void Client::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool Client::connect() {
  buffer_.clear();
  ++connects_;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = timeout_.count() / 1000, .tv_usec = timeout_.count() % 1000 * 1000};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  no_delay(fd);
  const sockaddr_in to = loopback(port_);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return false;
  }
  fd_ = fd;
  return true;
}

Response Client::failed(std::string why) {
  close();
  Response out;
  out.error = std::move(why);
  return out;
}

// More bytes into the buffer; false at the end, an error or the time-out (errno tells; 0: the end).
bool Client::fill() {
  char chunk[16384];
  for (;;) {
    const ssize_t got = ::recv(fd_, chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = 0;
    if (got <= 0) return false;
    buffer_.append(chunk, static_cast<std::size_t>(got));
    return true;
  }
}

Response Client::read(bool head_only) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (fill()) continue;
    const bool closed = (errno == 0 || errno == ECONNRESET) && buffer_.empty();
    return failed(closed ? "closed" : std::string("in the head: ") + std::strerror(errno));
  }
  Response out;
  const std::string head = buffer_.substr(0, end);
  buffer_.erase(0, end + 4);
  out.status = std::atoi(head.substr(std::min<std::size_t>(9, head.size())).c_str());
  out.headers = parse_headers(head);
  const bool close_after = lower(out.headers["connection"]) == "close";
  const bool bodyless = head_only || out.status == 204 || out.status == 304 || out.status < 200;
  if (!bodyless && out.headers.count("transfer-encoding") != 0) {
    for (;;) {  // chunked
      std::size_t line = 0;
      while ((line = buffer_.find("\r\n")) == std::string::npos) {
        if (!fill()) return failed("in a chunk");
      }
      const std::size_t size = std::strtoul(buffer_.c_str(), nullptr, 16);
      while (buffer_.size() < line + 2 + size + 2) {
        if (!fill()) return failed("in a chunk");
      }
      out.body += buffer_.substr(line + 2, size);
      buffer_.erase(0, line + 2 + size + 2);
      if (size == 0) break;
    }
  } else if (!bodyless && out.headers.count("content-length") != 0) {
    const std::size_t size = std::stoul(out.headers["content-length"]);
    while (buffer_.size() < size) {
      if (!fill()) return failed("in the body");
    }
    out.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
  } else if (!bodyless) {
    while (fill()) {
    }
    out.body = std::move(buffer_);
    buffer_.clear();
    close();
  }
  if (close_after) close();
  return out;
}

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "steelyard-e2e.XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Process::Process(const std::vector<std::string>& arguments, const std::string& output) {
  std::vector<char*> argv;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ != 0) return;
  const int in = ::open("/dev/null", O_RDONLY);
  const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

std::vector<pid_t> children_of(pid_t pid) {
  const std::string task = std::to_string(pid);
  std::istringstream in(read_text("/proc/" + task + "/task/" + task + "/children"));
  std::vector<pid_t> out;
  for (pid_t child = 0; in >> child;) out.push_back(child);
  return out;
}

Process::~Process() {
  if (result_ >= 0) return;
  ::kill(pid_, SIGSTOP);  // so that it starts nothing between the look and the end
  const auto children = children_of(pid_);
  ::kill(pid_, SIGKILL);
  for (const pid_t child : children) ::kill(child, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
  if (result_ < 0) ::kill(pid_, number);
}

int Process::wait(std::chrono::milliseconds most) {
  (void)wait_until(
      [&] {
        int status = 0;
        if (result_ < 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
          result_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        return result_ >= 0;
      },
      most);
  return result_;
}

int run(const std::vector<std::string>& arguments, const std::string& output,
        std::chrono::milliseconds most) {
  return Process(arguments, output).wait(most);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::trunc) << text;
}

std::uint16_t free_port() {
  std::uint16_t port = 0;
  ::close(listen_anywhere(port));
  return port;
}

bool wait_until(const std::function<bool()>& done, std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace steelyard::e2e
