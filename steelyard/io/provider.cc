#include "steelyard/io/provider.h"

#include <utility>

#include "steelyard/io/listener_set.h"
#include "steelyard/io/pid_file.h"

namespace steelyard::io {

namespace {

class LocalProvider final : public Provider {
 public:
  LocalProvider() = default;
  LocalProvider(const LocalProvider&) = delete;
  LocalProvider& operator=(const LocalProvider&) = delete;
  ~LocalProvider() override { drop_pid_file(pid_file_); }

  base::Result<Fd> listener(const base::Address& address, unsigned worker) override {
    return sockets_.get(address, worker);
  }
  void keep_only(std::span<const base::Address> configured) override {
    sockets_.keep_only(configured);
  }
  unsigned workers(unsigned wanted) override {
    return workers_ = workers_ == 0 ? wanted : workers_;
  }
  base::Result<void> claim_pid_file(const std::string& path) override {
    auto claimed = io::claim_pid_file(path);
    if (claimed) pid_file_ = path;
    return claimed;
  }
  [[nodiscard]] std::string state() const override { return state_; }
  void put_state(std::string_view blob) override { state_ = blob; }
  [[nodiscard]] std::string kept_config() const override { return {}; }  // one process: no next
  void keep_config(std::string_view /*record*/) override {}
  base::Result<void> lease() override { return {}; }
  void ready() override {}
  Heartbeat::Pulse* pulse(unsigned /*loop*/) noexcept override { return nullptr; }
  [[nodiscard]] ProcessStatus status() const override { return {}; }

 private:
  ListenerSet sockets_;
  std::string state_;
  std::string pid_file_;
  unsigned workers_ = 0;
};

}  // namespace

std::unique_ptr<Provider> make_local_provider() { return std::make_unique<LocalProvider>(); }

}  // namespace steelyard::io
