// A real Nginx of the test's own: prefix, configuration, pid file and port in a temporary
// directory, nothing of the system's. And our drivers on a thread of their own, driven by Tables.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "steelyard/apply/drivers.h"
#include "steelyard/io/epoll.h"
#include "steelyard/model/table.h"

#include "test/e2e/support.h"

namespace steelyard::e2e {

class RealNginx {
 public:
  explicit RealNginx(std::vector<std::string> upstreams = {"api"}) {
    std::filesystem::create_directory(dir / "conf.d");
    port_ = free_port();
    std::string locations;
    for (const auto& name : upstreams) {
      const std::string path = name == upstreams[0] ? "/" : "/" + name;
      locations += "location " + path + " { proxy_pass http://" + name +
                   "; proxy_http_version 1.1; proxy_set_header Connection \"\"; }\n";
    }
    const std::string d = dir.path().string();
    write_text(conf(), "pid " + d + "/pid; error_log " + d +
                           "/error.log notice; worker_processes 1; worker_shutdown_timeout 10s;\n"
                           "events { worker_connections 512; }\nhttp { access_log off;\n"
                           "client_body_temp_path " +
                           d + "/b; proxy_temp_path " + d + "/p; fastcgi_temp_path " + d +
                           "/f; uwsgi_temp_path " + d + "/u; scgi_temp_path " + d +
                           "/s;\ninclude " + d + "/conf.d/*.conf;\nserver { listen 127.0.0.1:" +
                           std::to_string(port_) + ";\n" + locations + "} }\n");
  }
  RealNginx(const RealNginx&) = delete;
  RealNginx& operator=(const RealNginx&) = delete;
  ~RealNginx() {
    if (process_) process_->signal(SIGTERM);
    if (process_ && process_->wait(std::chrono::seconds(5)) < 0) process_->signal(SIGKILL);
  }

  TempDir dir;
  [[nodiscard]] std::string conf() const { return dir / "nginx.conf"; }
  [[nodiscard]] std::string file(const std::string& name = "api") const {
    return dir / ("conf.d/" + name + ".conf");
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // The command with `more` appended, as our options want it.
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> more) const {
    std::vector<std::string> out{"nginx", "-p", dir.path().string(), "-c", conf()};
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
    return out;
  }
  [[nodiscard]] bool test() const { return run(command({"-t", "-q"}), dir / "test.log") == 0; }
  [[nodiscard]] bool start() {
    process_ = std::make_unique<Process>(command({"-g", "daemon off;"}), dir / "nginx.log");
    Client probe(port_);
    return wait_until([&] { return probe.get("/").status != 0; }, std::chrono::seconds(10));
  }
  [[nodiscard]] apply::NginxOptions options(const std::string& name = "api") const {
    apply::NginxOptions out;
    out.file = file(name);
    out.test = command({"-t"});
    out.reload = command({"-s", "reload"});
    out.pid = dir / "pid";
    out.gap = std::chrono::milliseconds(500);
    out.verify_timeout = std::chrono::seconds(5);
    out.watch = std::chrono::milliseconds(100);
    out.balance = apply::Balance::kRoundRobin;
    return out;
  }
  // Reloads that Nginx itself has noted.
  [[nodiscard]] std::size_t reloads() const {
    const std::string log = read_text(dir / "error.log");
    std::size_t out = 0;
    for (auto at = log.find("(SIGHUP) received"); at != std::string::npos;
         at = log.find("(SIGHUP) received", at + 1)) {
      ++out;
    }
    return out;
  }

 private:
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> process_;
};

// Drivers with their reactor on one thread; calls from the test's thread are handed over.
class Orchestrator final : apply::Events {
 public:
  explicit Orchestrator(const std::vector<apply::Drivers::Target>& targets) {
    thread_ = std::thread([this, targets] { loop(targets); });
    (void)wait_until([&] { return ready_.load(); }, std::chrono::seconds(10));
  }
  Orchestrator(const Orchestrator&) = delete;
  Orchestrator& operator=(const Orchestrator&) = delete;
  ~Orchestrator() {
    stop_ = true;
    thread_.join();
  }

  void want(model::Table table) {
    const std::lock_guard lock(mutex_);
    table_ = std::make_unique<model::Table>(std::move(table));
  }
  [[nodiscard]] apply::Status status(const std::string& name = "api") const {
    const std::lock_guard lock(mutex_);
    for (const auto& s : statuses_) {
      if (s.upstream == name) return s;
    }
    return {};
  }
  [[nodiscard]] bool applied(std::uint64_t number, const std::string& name = "api",
                             std::chrono::milliseconds most = std::chrono::seconds(20)) const {
    return wait_until(
        [&] {
          const auto s = status(name);
          return s.state == apply::State::kApplied && s.applied_table == number;
        },
        most);
  }

 private:
  void on_event(const apply::Event& /*event*/) noexcept override {}
  void loop(const std::vector<apply::Drivers::Target>& targets) {
    auto reactor = io::make_epoll_reactor();
    apply::Drivers drivers(*reactor, *this);
    if (!drivers.configure(targets)) return;
    while (!stop_) {
      reactor->run_turn(reactor->now() + std::chrono::milliseconds(5));
      std::unique_ptr<model::Table> table;
      {
        const std::lock_guard lock(mutex_);
        table = std::move(table_);
      }
      if (table) drivers.want(*table);
      auto statuses = drivers.statuses();
      const std::lock_guard lock(mutex_);
      statuses_ = std::move(statuses);
      ready_ = true;
    }
  }

  mutable std::mutex mutex_;
  std::unique_ptr<model::Table> table_;
  std::vector<apply::Status> statuses_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace steelyard::e2e
