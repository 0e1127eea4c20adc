#include "test/rigs/lib/process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <sched.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "test/rigs/lib/http.h"
#include "test/rigs/lib/net.h"

namespace steelyard::rigs {
namespace {

// In the child, between fork and exec: only what is safe there.
[[noreturn]] void become(char* const* arguments, const SpawnOptions& options, int output,
                         int cgroup, int netns) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (cgroup >= 0) (void)!::write(cgroup, "0", 1);
  if (netns >= 0 && ::setns(netns, CLONE_NEWNET) != 0) ::_exit(126);
  if (options.files > 0) {
    const rlimit limit{options.files, options.files};
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  (void)::dup2(output, 1);
  (void)::dup2(output, 2);
  (void)::signal(SIGPIPE, SIG_DFL);
  ::execvp(arguments[0], arguments);
  ::_exit(127);
}

std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> out;
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return out;
  while (const dirent* const entry = ::readdir(dir)) {
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') out.push_back(std::atoi(entry->d_name));
  }
  ::closedir(dir);
  return out;
}

pid_t parent_of(pid_t pid) {
  const auto text = read_text("/proc/" + std::to_string(pid) + "/stat");
  const auto end = text.rfind(')');  // the name before it may hold anything
  if (end == std::string::npos || end + 4 > text.size()) return 0;
  return std::atoi(text.c_str() + end + 4);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const SpawnOptions& options) {
  std::vector<char*> argv;
  for (const auto& one : arguments) argv.push_back(const_cast<char*>(one.c_str()));
  argv.push_back(nullptr);
  const std::string file = options.output.empty() ? "/dev/null" : options.output;
  const int output = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const auto opened = [](const std::string& path, int flags) {
    return path.empty() ? -1 : ::open(path.c_str(), flags | O_CLOEXEC);
  };
  const int cgroup = opened(options.cgroup_procs, O_WRONLY);
  const int netns = opened(options.netns, O_RDONLY);
  pid_ = ::fork();
  if (pid_ == 0) become(argv.data(), options, output, cgroup, netns);
  for (const int fd : {output, cgroup, netns}) {
    if (fd >= 0) ::close(fd);
  }
}

Process::~Process() {
  if (!running()) return;
  // An engine goes on without its supervisor: it ends with it here.
  signal(SIGSTOP);
  for (const pid_t pid : numbers_in("/proc")) {
    if (parent_of(pid) == pid_) (void)::kill(pid, SIGKILL);
  }
  signal(SIGKILL);
  (void)wait(std::chrono::seconds(5));
}

void Process::signal(int number) const {
  if (result_ < 0 && pid_ > 0) (void)::kill(pid_, number);
}

int Process::wait(std::chrono::milliseconds most) {
  if (result_ >= 0) return result_;
  const auto end = Clock::now() + most;
  for (;;) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      return result_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (Clock::now() >= end) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

int run_program(const std::vector<std::string>& arguments, const std::string& output,
                std::chrono::milliseconds most) {
  Process process(arguments, {.output = output});
  return process.wait(most);
}

std::vector<pid_t> tree_of(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : numbers_in("/proc")) children.emplace(parent_of(pid), pid);
  std::vector<pid_t> out{root};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto [from, to] = children.equal_range(out[i]);
    for (auto at = from; at != to; ++at) out.push_back(at->second);
  }
  return out;
}

namespace {

void add_memory(const std::string& folder, Usage& out) {
  std::istringstream maps(read_text(folder + "/smaps"));
  std::int64_t size = 0, dirty = 0;
  bool anonymous = false;
  for (std::string line; std::getline(maps, line);) {
    const auto value = std::atoll(line.c_str() + std::min(line.find(':') + 1, line.size()));
    if (line.starts_with("Size:")) size = value;
    if (line.starts_with("Rss:")) out.rss_kib += value;
    if (line.starts_with("Private_Dirty:")) out.private_kib += dirty = value;
    if (line.starts_with("VmFlags:") && anonymous && line.find(" dd") != line.npos) {
      out.buffers_kib += dirty;
      out.buffers_most_kib += size;
    }
    // "from-to rights offset device inode  path"
    if (line.find('-') < line.find(' ')) anonymous = line.find_first_of("/[") == line.npos;
  }
}

}  // namespace

Usage usage_of(pid_t root) {
  Usage out;
  for (const pid_t pid : tree_of(root)) {
    const auto folder = "/proc/" + std::to_string(pid);
    add_memory(folder, out);
    out.files += numbers_in(folder + "/fd").size();
    for (const pid_t task : numbers_in(folder + "/task")) {
      const auto text = read_text(folder + "/task/" + std::to_string(task) + "/schedstat");
      out.cpu_s += std::strtod(text.c_str(), nullptr) / 1e9;
    }
  }
  return out;
}

TempDir::TempDir() : path_("/tmp/steelyard-rig-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}
TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
std::string TempDir::operator/(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

bool write_text(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

bool replace_text(const std::string& path, std::string_view text) {
  return write_text(path + ".new", text) && std::rename((path + ".new").c_str(), path.c_str()) == 0;
}

bool wait_until(const std::function<bool()>& so, std::chrono::milliseconds most) {
  for (const auto end = Clock::now() + most; !so();) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

Answer ask(std::uint16_t port, std::string_view request, std::chrono::milliseconds timeout,
           const std::string& host) {
  Answer out;
  const int fd = connect_now({host, port}, timeout);
  if (fd < 0) return out;
  while (!request.empty()) {
    const ssize_t sent = ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    request.remove_prefix(static_cast<std::size_t>(sent));
  }
  MessageReader reader(MessageReader::Kind::kAnswer);
  reader.on_head = [&](const Head& head) {
    out.status = head.status();
    out.head = head.first + "\r\n";
    for (const auto& [name, value] : head.fields) out.head += name + ": " + value + "\r\n";
  };
  reader.on_body = [&](std::string_view bytes) { out.body.append(bytes); };
  reader.on_end = [&] { out.whole = true; };
  std::string buffer(65536, '\0');
  const auto end = Clock::now() + timeout;
  while (!out.whole && Clock::now() < end) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got == 0) (void)(reader.inside() && reader.end());
    if (got <= 0 || !reader.feed({buffer.data(), static_cast<std::size_t>(got)})) break;
  }
  ::close(fd);
  return out;
}

Answer ask_get(std::uint16_t port, const std::string& path, std::chrono::milliseconds timeout) {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
             timeout);
}

Answer ask_post(std::uint16_t port, const std::string& path, const std::string& body,
                const std::string& fields, std::chrono::milliseconds timeout) {
  return ask(port,
             "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fields +
                 "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
             timeout);
}

}  // namespace steelyard::rigs
