// The admin API's routes, over a wire::Server: state, decisions, metrics, health, overrides.
//
//   GET    /api/v1/upstreams[/NAME]      weights, shares, states, reasons
//   GET    /api/v1/decisions             newest first; ?upstream= &node= &limit= (1 to 1000)
//   GET    /api/v1/drivers               what was written into other balancers, and read back
//   GET    /api/v1/process               supervisor, engines, crashes, upgrades, configuration
//   POST   /api/adjust-weight            an override; X-API-Key, JSON
//   DELETE /api/v1/upstreams/U/nodes/N/override
//   POST   /api/v1/drivers/U/resume
//   GET    /metrics /healthz /readyz
//
// A write returns when every worker has the new Table: 200; when a worker has been silent for 1 s,
// 202 naming it. Threads: control. The Host and the Brain outlive the Api.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "steelyard/admin/access.h"
#include "steelyard/admin/exposition.h"
#include "steelyard/admin/json.h"
#include "steelyard/admin/process.h"
#include "steelyard/control/brain.h"
#include "steelyard/io/reactor.h"
#include "steelyard/wire/server.h"

namespace steelyard::admin {

struct Ready {
  bool ok = false;
  std::string text;  // one line a check
};

// What the Api needs of whoever runs the balancer.
class Host {
 public:
  using Silent = std::vector<std::uint32_t>;
  // Ticks and publishes now; `done` runs when every worker has it, with those silent for 1 s.
  virtual void publish_now(std::function<void(const Silent&)> done) = 0;
  virtual void write_metrics(Exposition& out) = 0;
  [[nodiscard]] virtual std::vector<DriverView> drivers() = 0;
  virtual bool resume_driver(std::string_view upstream) = 0;  // false: there is none
  [[nodiscard]] virtual Ready ready() = 0;
  [[nodiscard]] virtual UpstreamsBody numbers() const = 0;
  [[nodiscard]] virtual ProcessView process() = 0;

 protected:
  ~Host() = default;
};

class Api {
 public:
  Api(io::Reactor& reactor, control::Brain& brain, Host& host, Access access);

  void set_access(Access access) { access_ = std::move(access); }
  void handle(const wire::Request& request, wire::Reply reply);

 private:
  [[nodiscard]] Caller caller_of(const wire::Request& request) const;
  [[nodiscard]] wire::Response read(const wire::Request& request);
  [[nodiscard]] wire::Response one_upstream(std::string_view name);
  [[nodiscard]] wire::Response decisions(const wire::Request& request);
  [[nodiscard]] wire::Response metrics();
  void adjust(const wire::Request& request, wire::Reply reply);
  void clear(const wire::Request& request, wire::Reply reply, std::string_view upstream,
             std::string_view node);
  void resume(const wire::Request& request, wire::Reply reply, std::string_view upstream);
  void answer_when_taken(model::NodeId id, wire::Reply reply);
  [[nodiscard]] Now now() const;

  io::Reactor& reactor_;
  control::Brain& brain_;
  Host& host_;
  Access access_;
};

}  // namespace steelyard::admin
