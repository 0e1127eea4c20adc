#include "steelyard/cli/node_server.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "steelyard/schema/scalar.h"

namespace steelyard::cli {
namespace {

using Json = nlohmann::ordered_json;

base::Error bad(std::string text) {
  return {.code = base::Code::kInvalid,
          .origin = base::Origin::kClient,
          .retry_safe = false,
          .text = std::move(text)};
}

base::Result<base::Duration> duration_of(const std::string& key, const Json& value) {
  if (!value.is_string()) return bad("\"" + key + "\" must be a duration such as \"1.8s\"");
  auto parsed = schema::parse_duration(value.get<std::string>());
  if (!parsed) return bad("\"" + key + "\" " + parsed.error().text);
  return parsed;
}

base::Result<double> number_of(const std::string& key, const Json& value, double lo, double hi) {
  if (!value.is_number() || value.get<double>() < lo || value.get<double>() > hi) {
    return bad(fmt::format("\"{}\" must be a number from {} to {}", key, lo, hi));
  }
  return value.get<double>();
}

base::Result<bool> bool_of(const std::string& key, const Json& value) {
  if (!value.is_boolean()) return bad("\"" + key + "\" must be true or false");
  return value.get<bool>();
}

// What POST /control may set, before any of it is in force.
struct Wanted {
  ServiceFaults faults;
  unsigned cores;
  base::Duration service;
  bool ready;
};

template <typename T, typename U>
base::Result<void> store(base::Result<T> from, U& to) {
  if (!from) return from.error();
  to = static_cast<U>(*from);
  return {};
}

base::Result<void> set(Wanted& wanted, const std::string& key, const Json& value) {
  auto& f = wanted.faults;
  if (key == "cores") return store(number_of(key, value, 1, 10000), wanted.cores);
  if (key == "service") return store(duration_of(key, value), wanted.service);
  if (key == "pause") return store(duration_of(key, value), f.pause);
  if (key == "pause_every") return store(duration_of(key, value), f.pause_every);
  if (key == "slow") return store(number_of(key, value, 0, 1e6), f.slow);
  if (key == "error_rate") return store(number_of(key, value, 0, 1), f.error_rate);
  if (key == "hang") return store(bool_of(key, value), f.hang);
  if (key == "ready") return store(bool_of(key, value), wanted.ready);
  if (key == "score") {
    f.score.reset();
    return value.is_null() ? base::Result<void>() : store(number_of(key, value, 0, 100), f.score);
  }
  if (key == "reset") return {};  // done first
  return bad("unknown field \"" + key +
             "\"; known are cores, service, pause, pause_every, slow, error_rate, hang, score, "
             "ready, reset");
}

}  // namespace

NodeServer::NodeServer(io::Reactor& reactor, io::Fd socket, const NodeServerOptions& options)
    : reactor_(reactor),
      options_(options),
      model_(options.cores, options.service, options.seed),
      timer_(reactor.timer(*this)),
      server_(std::make_unique<wire::Server>(
          reactor,
          wire::ServerOptions{.max_connections = 8192,
                              .head_timeout = std::chrono::seconds(60),
                              .idle_timeout = std::chrono::hours(1)},
          [this](const wire::Request& request, wire::Reply reply) {
            handle(request, std::move(reply));
          })) {
  model_.advance(reactor.now(), done_);
  server_->listen(std::move(socket));
}

NodeServer::~NodeServer() = default;

void NodeServer::handle(const wire::Request& request, wire::Reply reply) {
  const auto path = request.path();
  if (path == "/health/score") return reply.send(wire::Response::json(200, score()));
  if (path == "/health") {
    return reply.send(wire::Response::text(ready_ ? 200 : 503, ready_ ? "ok\n" : "not ready\n"));
  }
  if (path == "/control") return control(request, std::move(reply));
  const auto id = next_id_++;
  waiting_.emplace(id, std::move(reply));
  model_.advance(reactor_.now(), done_);
  model_.arrive(id, reactor_.now());
  model_.advance(reactor_.now(), done_);
  answer_done();
}

void NodeServer::answer_done() {
  for (const auto& done : done_) {
    const auto found = waiting_.find(done.id);
    if (found == waiting_.end()) continue;
    wire::Reply reply = std::move(found->second);
    waiting_.erase(found);
    ++served_;
    auto response = done.ok ? wire::Response::text(200, options_.name + "\n")
                            : wire::Response::text(500, options_.name + " failed\n");
    response.headers.push_back({"X-Node", options_.name});
    reply.send(std::move(response));
  }
  done_.clear();
  arm();
}

void NodeServer::arm() {
  if (const auto next = model_.next()) timer_->at(*next);
}

void NodeServer::on_time() noexcept {
  model_.advance(reactor_.now(), done_);
  answer_done();
}

void NodeServer::set_faults(const ServiceFaults& faults) {
  model_.advance(reactor_.now(), done_);
  model_.set_faults(faults, reactor_.now());
  answer_done();
}

void NodeServer::control(const wire::Request& request, wire::Reply reply) {
  if (request.method == "GET") return reply.send(wire::Response::json(200, settings()));
  if (request.method != "POST") return reply.send(wire::Response::text(405, "use GET or POST\n"));
  if (auto changed = change(request.body); !changed) {
    return reply.send(wire::Response::text(400, changed.error().text + "\n"));
  }
  reply.send(wire::Response::json(200, settings()));
}

base::Result<void> NodeServer::change(std::string_view body) {
  const auto json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return bad("the body must be a JSON object");
  Wanted wanted{model_.faults(), model_.cores(), model_.service(), ready_};
  if (json.contains("reset")) {
    auto reset = bool_of("reset", json["reset"]);
    if (!reset) return reset.error();
    if (*reset) {
      wanted.faults = {};
      wanted.ready = true;
    }
  }
  for (const auto& [key, value] : json.items()) {
    if (auto done = set(wanted, key, value); !done) return done;
  }
  model_.advance(reactor_.now(), done_);
  model_.set_service(wanted.service);
  model_.set_cores(wanted.cores, reactor_.now());
  model_.set_faults(wanted.faults, reactor_.now());
  ready_ = wanted.ready;
  answer_done();
  return {};
}

std::string NodeServer::settings() const {
  const auto& f = model_.faults();
  return Json{{"name", options_.name},
              {"cores", model_.cores()},
              {"service", schema::duration_text(model_.service())},
              {"pause", schema::duration_text(f.pause)},
              {"pause_every", schema::duration_text(f.pause_every)},
              {"slow", f.slow},
              {"error_rate", f.error_rate},
              {"hang", f.hang},
              {"score", f.score ? Json(*f.score) : Json(nullptr)},
              {"ready", ready_},
              {"served", served_}}
             .dump() +
         "\n";
}

std::string NodeServer::score() {
  model_.advance(reactor_.now(), done_);
  const auto health = model_.health(reactor_.now());
  answer_done();
  return Json{{"score", health.score},
              {"gcCount", health.pauses},
              {"activeThreads", health.active},
              {"avgResponseTimeMs", base::seconds(health.mean_response) * 1e3},
              {"cpuUsagePct", health.utilisation * 100}}
             .dump() +
         "\n";
}

}  // namespace steelyard::cli
