// NodeServer: a demo node over HTTP: serves requests at the pace of its ServiceModel, tells its
// health, and has a small API to change its service and its faults.
//
//   GET  /health/score   the score endpoint          GET  /health   200, or 503 when "ready" is
//   false GET  /control        present settings            POST /control  JSON with any of: cores,
//   service,
//     pause, pause_every ("1.8s"), slow, error_rate, hang, score (null: computed), ready, status,
//     reset (true: no faults)
//   anything else        answered with the node's name after the service time
//
// For demonstration and tests, not for traffic that matters. Threads: the reactor's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "steelyard/base/result.h"
#include "steelyard/cli/service_model.h"
#include "steelyard/io/fd.h"
#include "steelyard/io/reactor.h"
#include "steelyard/wire/server.h"

namespace steelyard::cli {

struct NodeServerOptions {
  std::string name;
  unsigned cores = 4;
  base::Duration service = std::chrono::milliseconds(10);
  std::uint64_t seed = 1;
};

class NodeServer final : io::TimerEvents {
 public:
  NodeServer(io::Reactor& reactor, io::Fd socket, const NodeServerOptions& options);
  ~NodeServer();

  void set_faults(const ServiceFaults& faults);

 private:
  void handle(const wire::Request& request, wire::Reply reply);
  void control(const wire::Request& request, wire::Reply reply);
  base::Result<void> change(std::string_view body);
  [[nodiscard]] std::string settings() const;
  [[nodiscard]] std::string score();
  void answer_done();
  void arm();
  void on_time() noexcept override;

  io::Reactor& reactor_;
  NodeServerOptions options_;
  ServiceModel model_;
  bool ready_ = true;
  std::uint64_t next_id_ = 1;
  std::uint64_t served_ = 0;
  std::unordered_map<std::uint64_t, wire::Reply> waiting_;
  std::vector<ServiceModel::Done> done_;
  std::unique_ptr<io::Timer> timer_;
  std::unique_ptr<wire::Server> server_;
};

}  // namespace steelyard::cli
