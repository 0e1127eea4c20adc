// A worker in simulated time, with scripted nodes and clients moved by hand.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/io/sim.h"
#include "steelyard/proxy/publisher.h"
#include "steelyard/proxy/worker.h"

namespace steelyard::proxy::testing {

using namespace std::chrono_literals;

// One connection at a node.
struct Conn {
  std::unique_ptr<io::SimPeer> peer;
  std::string in;         // received, not yet used by the script
  std::string out;        // to be sent as room comes
  std::uint64_t got = 0;  // bytes received ever
  unsigned requests = 0;  // heads seen by next_request
  bool open = true;
  bool reads = true;
  bool end_after = false;  // FIN once `out` is sent

  void send(std::string_view text) { out += text; }
  void end() { end_after = true; }
  void reset();
  // A whole request with a length or chunked body, or nothing yet; it leaves `in`.
  bool next_request(std::string& whole);
};

class SimNode final : public io::AcceptEvents {
 public:
  using Script = std::function<void(SimNode& node, Conn& conn)>;
  SimNode(io::SimReactor& sim, std::uint16_t port, Script script);

  void pump();
  void stop_listening();  // connects are refused from now on
  [[nodiscard]] base::Address address() const { return address_; }
  [[nodiscard]] std::size_t open() const;  // connections that neither side has closed

  Script script;
  std::deque<Conn> conns;
  unsigned requests = 0;
  std::vector<std::string> seen;  // requests, whole

 private:
  void on_accept(io::Fd socket, const base::Address& peer) noexcept override;
  void on_stopped() noexcept override {}
  io::SimReactor& sim_;
  base::Address address_;
  io::Fd socket_;
  std::unique_ptr<io::Listener> listener_;
};

// Answers every request with 200 and "ok".
void answer_ok(SimNode& node, Conn& conn);
inline constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// A client moved by hand.
struct SimClient {
  std::unique_ptr<io::SimPeer> peer;
  std::string in;
  std::string out;
  bool reads = true;

  void send(std::string_view text) { out += text; }
  [[nodiscard]] int status() const;        // of the first answer in `in`
  [[nodiscard]] std::string body() const;  // of the first answer
  [[nodiscard]] bool closed() const { return peer->ended() || peer->was_reset(); }
};

class SimRig final : public WorkerEvents {
 public:
  struct Setup {
    std::uint64_t seed = 1;
    Options options;
    ListenerOptions listener;  // address and routes are the rig's
    request::TimeoutOptions timeouts;
    request::RetryOptions retry;
    std::optional<request::HedgeOptions> hedge;
    request::UpstreamRules rules;
    std::vector<std::string> upgrades;
    bool connect = false;
    request::MatchOptions match;
    std::optional<request::TraceOptions> trace;
    std::string picker = "round_robin";
    ServerCodecs server_codec;
    AccessRing* access = nullptr;
    std::shared_ptr<AddressCounts> addresses;  // nothing: the worker's own
    bool partial = true;
    std::size_t receive_buffer = io::SimOptions{}.receive_buffer;
    std::size_t socket_buffer = io::SimOptions{}.socket_buffer;
  };
  explicit SimRig(Setup setup);
  SimRig() : SimRig(Setup{}) {}
  ~SimRig();

  SimNode& add_node(SimNode::Script script = answer_ok);
  void publish();         // a Table of the nodes listed, the current Config
  void publish_config();  // a new Config as `setup` says
  SimClient& dial();
  void run(base::Duration time, base::Duration step = 1ms);  // hands are moved once a step
  // Runs until `done`, at most `limit`; false when it did not come to that.
  bool until(const std::function<bool()>& done, base::Duration limit = 300s);
  [[nodiscard]] unsigned in_flight() const;
  [[nodiscard]] model::WorkerCells& cells(std::size_t node) { return slots.cells(refs[node], 0); }
  [[nodiscard]] base::TimePoint now() const { return sim->now(); }
  [[nodiscard]] std::uint64_t pooled() const;
  // 1 March 2026, noon, when simulated time begins.
  [[nodiscard]] io::WallTime wall() const {
    return io::WallTime(std::chrono::seconds(1'772'366'400)) + (now() - began);
  }

  void on_urgent(model::NodeRef) noexcept override { ++urgent; }
  void on_taken(std::uint64_t) noexcept override {}
  void on_listener_stopped(const base::Address&) noexcept override { ++listeners_stopped; }
  void on_drained() noexcept override { ++drained; }
  void on_overload(Stage stage, std::size_t, std::size_t) noexcept override {
    stages.push_back(stage);
  }

  Setup setup;
  std::shared_ptr<http::Http1Pool> http1 =
      http::make_http1_pool({.connect = true});  // outlives the reactor
  std::unique_ptr<io::SimReactor> sim;
  base::TimePoint began{};
  model::Slots slots{64, 1};
  std::deque<SimNode> nodes;
  std::vector<model::NodeRef> refs;
  std::vector<bool> listed;
  std::vector<double> weights;
  Publisher publisher{1, [](std::uint32_t) {}};
  io::Fd socket;
  base::Address address = base::Address::loopback(8080);
  std::unique_ptr<Worker> worker;
  std::deque<SimClient> clients;
  unsigned urgent = 0;
  unsigned listeners_stopped = 0;
  unsigned drained = 0;
  std::vector<Stage> stages;  // of overload, as they came

 private:
  void pump();
  std::shared_ptr<const Config> config_;
  std::shared_ptr<const pick::Table> table_;
  std::uint64_t tables_ = 0;
  std::uint64_t configs_ = 0;
};

}  // namespace steelyard::proxy::testing
