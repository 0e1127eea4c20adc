#include "steelyard/cli/demo_side.h"

#include <fmt/format.h>
#include <numeric>
#include <optional>

#include "steelyard/cli/load.h"
#include "steelyard/cli/node_server.h"
#include "steelyard/config/load.h"
#include "steelyard/io/clock.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/socket.h"
#include "steelyard/io/thread.h"

namespace steelyard::cli {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(10);
constexpr auto kFinishLimit = std::chrono::seconds(25);

// Like a JVM in trouble: it stops for up to 1.8 s, again and again.
constexpr ServiceFaults kIllness{.pause = std::chrono::milliseconds(1800),
                                 .pause_every = std::chrono::milliseconds(2500)};

std::string demo_config(const DemoSideOptions& options, const std::vector<base::Address>& nodes) {
  std::string out = fmt::format(
      "listeners:\n"
      "  - address: 127.0.0.1:0\n"
      "    routes: [{{ upstream: shop, timeouts: {{ head: 5s }} }}]\n"
      "admin: {{ address: {} }}\n"
      "upstreams:\n"
      "  shop:\n"
      "    nodes:\n",
      options.admin);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    out += fmt::format("      - {{ name: node-{}, address: {}, weight: {} }}\n",
                       static_cast<char>('a' + i), nodes[i].to_text(), kDemoCores[i]);
  }
  if (options.senses) {
    out +=
        "    sense: { score: { interval: 1s, timeout: 3s } }\n"
        "    health: { cooldown: 3s, slow_start: 10s }\n";
  } else {
    out +=
        "    pick: smooth_weighted_round_robin\n"
        "    weigh: { controller: static }\n";
  }
  return out;
}

}  // namespace

struct DemoSide::World {
  io::Reactor* reactor = nullptr;
  std::vector<std::unique_ptr<NodeServer>> nodes;
  std::unique_ptr<LoadGenerator> load;
  std::vector<io::Fd> sockets;
  std::vector<base::Address> addresses;
  bool quit = false;  // on its own thread
  std::optional<io::Thread> thread;

  template <typename F>
  void post(F work) {
    if (reactor != nullptr) reactor->post(io::make_task(std::move(work)));
  }
};

DemoSide::DemoSide(io::Reactor& reactor, Log& log, const DemoSideOptions& options)
    : reactor_(reactor),
      log_(log),
      options_(options),
      provider_(io::make_local_provider()),
      engine_(
          std::make_unique<Engine>(reactor, *provider_, log, EngineOptions{.seed = options.seed})),
      world_(std::make_unique<World>()) {}

DemoSide::~DemoSide() {
  world_->post([world = world_.get()] { world->quit = true; });
  world_->thread.reset();
}

base::Result<void> DemoSide::start() {
  for (std::size_t i = 0; i < kDemoCores.size(); ++i) {
    auto socket =
        io::listen_tcp(base::Address::loopback(0), {.backlog = 1024, .reuse_port = false});
    if (!socket) return socket.error();
    auto address = io::local_address(*socket);
    if (!address) return address.error();
    world_->sockets.push_back(std::move(*socket));
    world_->addresses.push_back(*address);
  }
  const auto loaded = config::load(demo_config(options_, world_->addresses), "demo");
  if (!loaded.ok()) {
    return base::Error{base::Code::kInvalid, base::Origin::kUs, false, loaded.report()};
  }
  auto document = std::make_shared<const config::Document>(*loaded.document);

  world_->thread.emplace(options_.senses ? "demo" : "demo-static", [this, at = world_.get()] {
    const auto own = io::make_epoll_reactor();
    for (std::size_t i = 0; i < at->sockets.size(); ++i) {
      at->nodes.push_back(std::make_unique<NodeServer>(
          *own, std::move(at->sockets[i]),
          NodeServerOptions{.name = fmt::format("node-{}", static_cast<char>('a' + i)),
                            .cores = kDemoCores[i],
                            .service = kDemoService,
                            .seed = options_.seed * 100 + i}));
    }
    reactor_.post(io::make_task([at, own = own.get()] { at->reactor = own; }));
    while (!at->quit) own->run_turn(base::TimePoint::max());
    at->load.reset();
    at->nodes.clear();
  });
  const auto limit = io::steady_now() + kStartLimit;
  while (world_->reactor == nullptr && io::steady_now() < limit) reactor_.run_turn(limit);
  if (auto started = engine_->start(document); !started) return started;

  const double capacity =
      std::accumulate(kDemoCores.begin(), kDemoCores.end(), 0.0) / base::seconds(kDemoService);
  const LoadOptions load{
      .to = engine_->listeners().front(), .rate = kDemoLoad * capacity, .seed = options_.seed};
  world_->post([at = world_.get(), load] {
    at->load = std::make_unique<LoadGenerator>(*at->reactor, load);
    at->load->start();
  });
  return {};
}

void DemoSide::set_phase(Phase phase) {
  world_->post([at = world_.get(), phase] {
    at->load->set_phase(phase);
    at->nodes[kDemoIll]->set_faults(phase == Phase::kIll ? kIllness : ServiceFaults{});
  });
}

void DemoSide::finish() {
  // Asks the other thread until nothing is open; each answer comes as a task of this reactor.
  bool done = false;
  std::function<void()> ask = [&] {
    world_->post([this, at = world_.get(), &ask, &done] {
      at->load->stop();
      const bool empty = at->load->open() == 0;
      reactor_.post(io::make_task([this, at, empty, &ask, &done] {
        if (empty) {
          stats_ = at->load->stats();
          done = true;
        } else {
          ask();
        }
      }));
    });
  };
  ask();
  const auto limit = io::steady_now() + kFinishLimit;
  while (!done) reactor_.run_turn(limit);
  engine_->stop(base::Duration{}, std::chrono::seconds(1));
  while (!engine_->stopped()) reactor_.run_turn(limit);
}

}  // namespace steelyard::cli
