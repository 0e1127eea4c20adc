#include "test/rigs/lib/stage.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <future>

namespace steelyard::rigs {
namespace {

using std::chrono::milliseconds;

Span span_of(double seconds) {
  return std::chrono::duration_cast<Span>(std::chrono::duration<double>(seconds));
}

// A process that was just started has been scheduled, has its limits and answers; machines under
// load need a while.
constexpr auto kStart = std::chrono::seconds(10);

}  // namespace

NodeProcess::NodeProcess(const Context& context, std::string name, std::string folder,
                         std::string netns, std::string host)
    : context_(context),
      name_(std::move(name)),
      folder_(std::move(folder)),
      netns_(std::move(netns)),
      host_(std::move(host)) {}

bool NodeProcess::start() {
  const auto output = folder_ + "/" + name_ + ".out";
  write_text(output, "");
  process_ = std::make_unique<Process>(
      std::vector<std::string>{context_.ledger, "node", "--name", name_, "--listen",
                               host_ + ":" + std::to_string(port_), "--log", log(), "--cases",
                               context_.cases},
      SpawnOptions{.output = output, .netns = netns_});
  return wait_until(
             [&] {
               const auto text = read_text(output);
               port_ = text.find('\n') == std::string::npos
                           ? port_
                           : static_cast<std::uint16_t>(std::atoi(text.c_str()));
               return text.find('\n') != std::string::npos || !process_->running();
             },
             kStart) &&
         port_ != 0 && process_->running();
}

void NodeProcess::kill() {
  process_->signal(SIGKILL);
  (void)process_->wait(std::chrono::seconds(5));
}

void NodeProcess::control(const std::string& lines) const {
  const auto request =
      "POST /control HTTP/1.1\r\nHost: n\r\nContent-Length: " + std::to_string(lines.size()) +
      "\r\n\r\n" + lines;
  (void)ask(port_, request, std::chrono::seconds(2), host_);
}

Stage::Stage(Context& context, std::string fault, std::string what, StageOptions options)
    : context_(context), options_(std::move(options)) {
  report_.fault = std::move(fault);
  report_.what = std::move(what);
  rules.quiet = static_cast<Micros>(context.quiet_s * 1e6);
  rules.deadline = static_cast<Micros>((options_.deadline_s + 0.5) * 1e6);
  rules.grace = 200'000;
}

Stage::~Stage() { stop_load(); }

std::string Stage::node_list() const {
  std::string out;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto at = nodes_[i]->at();
    if (const auto relay = relays_.find(i); relay != relays_.end()) {
      at = {"127.0.0.1", relay->second->port()};
    }
    out += "      - { name: " + nodes_[i]->name() + ", address: \"" + at.host + ":" +
           std::to_string(at.port) + "\" }\n";
  }
  return out;
}

std::string Stage::config_text(const std::string& upstream_more) const {
  return "listeners:\n  - address: \"" + options_.listen +
         "\"\n    routes:\n      - upstream: api\n" +
         (options_.route.empty() ? "" : "        " + options_.route + "\n") +
         "upstreams:\n  api:\n    nodes:\n" + node_list() + "    health: " + options_.health +
         "\n" + options_.upstream + upstream_more + options_.top +
         "drain: { limit: 10s, idle: 200ms }\nadmin: { " + options_.admin + " }\n";
}

bool Stage::steady() {
  for (std::size_t i = 0; i < options_.nodes; ++i) {
    const auto far = options_.far.find(i);
    const auto where = far == options_.far.end() ? StageOptions::Far{"127.0.0.1", ""} : far->second;
    nodes_.push_back(std::make_unique<NodeProcess>(context_, "n" + std::to_string(i + 1),
                                                   dir_.path(), where.netns, where.host));
    if (!nodes_.back()->start()) {
      expect(false, "node " + nodes_.back()->name() + " did not start");
      return false;
    }
    if (options_.relayed.contains(i)) {
      relays_[i] = std::make_unique<TcpFault>(loop_, Endpoint{}, nodes_.back()->at());
    }
  }
  config_ = config_text();
  auto how = context_.balancer;
  how.files = options_.files;
  how.cgroup_procs = options_.cgroup_procs;
  how.arguments.insert(how.arguments.end(), options_.arguments.begin(), options_.arguments.end());
  balancer_ = std::make_unique<Balancer>(config_, how);
  if (!balancer_->up()) {
    expect(false, "the balancer did not start: " + balancer_->log());
    return false;
  }
  at_start_ = balancer_->usage();
  start_load();
  pause(context_.steady_s);
  if (client_->totals().good == 0) {
    expect(false, "no answer before the fault");
    return false;
  }
  return true;
}

void Stage::restart_balancer() {
  auto how = context_.balancer;
  how.files = options_.files;
  how.arguments.insert(how.arguments.end(), options_.arguments.begin(), options_.arguments.end());
  const std::lock_guard lock(mutex_);
  balancer_ = std::make_unique<Balancer>(config_, how);
}

void Stage::start_load() {
  auto port = balancer_->port();
  if (options_.front) {
    relays_[kFront] = std::make_unique<TcpFault>(loop_, Endpoint{}, Endpoint{"127.0.0.1", port});
    port = relays_[kFront]->port();
  }
  client_ = std::make_unique<LedgerClient>(
      loop_, LedgerClientOptions{.to = {"127.0.0.1", port},
                                 .rate = options_.rate,
                                 .post = options_.post,
                                 .large = options_.large,
                                 .connections = options_.connections,
                                 .deadline = span_of(options_.deadline_s)});
  load_from_ = now_us();
  loop_.post([this] { client_->start(); });
  load_ = std::thread([this] { loop_.run(); });
  sampling_ = true;
  sampler_ = std::thread([this] {
    while (sampling_) {
      sample();
      pause(0.1);
    }
  });
}

void Stage::sample() {
  nlohmann::json view;
  {
    const std::lock_guard lock(mutex_);
    view = balancer_->api("/api/v1/upstreams/api");
  }
  if (!view.is_object() || !view.contains("nodes")) return;
  const auto at = now_us();
  for (const auto& node : view["nodes"]) {
    const double base = node["base"], ramp = node["ramp"];
    // Static weights: between a tenth of its base, in a ramp that part of it, and twice its base.
    history_.weighed.push_back({at, node["name"], node["state"], node["weight"],
                                0.1 * base * std::min(ramp, 1.0), 2 * base, node["share_wanted"]});
  }
}

void Stage::stop_load() {
  if (sampler_.joinable()) {
    sampling_ = false;
    sampler_.join();
  }
  if (!load_.joinable()) return;
  loop_.post([this] { client_->finish([this] { loop_.stop(); }); });
  const auto limit = Clock::now() + span_of(options_.deadline_s) + std::chrono::seconds(1);
  std::thread guard([this, limit] {  // a client that breaks its promise must not hold us
    while (Clock::now() < limit && !settled_) std::this_thread::sleep_for(milliseconds(20));
    loop_.stop();
  });
  load_.join();
  settled_ = true;
  guard.join();
}

void Stage::settle(double more_s) {
  pause(more_s + context_.quiet_s);
  stop_load();
  history_.asked = client_->asked();
  for (const auto& node : nodes_) {
    if (!read_history(node->log(), history_)) expect(false, "no ledger of " + node->name());
  }
  report_.verdict = judge(history_, rules);
  if (context_.keep.empty()) return;
  const auto stem = context_.keep + "/" + report_.fault;
  expect(write_history(stem + ".history", history_) &&
             write_text(stem + ".log", balancer_->log()) &&
             write_text(stem + ".times", std::to_string(rules.fault_from) + " " +
                                             std::to_string(rules.fault_to) + "\n"),
         "cannot write to " + context_.keep);
}

Report Stage::finish() {
  stop_load();
  for (const auto& text : report_.verdict.violations) report_.failures.push_back(text);
  if (balancer_ != nullptr) {
    const auto log = balancer_->log();
    for (const std::string_view mark : {"runtime error: ", "Sanitizer: "}) {
      expect(log.find(mark) == std::string::npos, "a sanitizer complains: " + log);
    }
    const int status = balancer_->stop();
    expect(status == 0, "the balancer ended with status " + std::to_string(status));
  }
  report_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  return report_;
}

void Stage::expect(bool so, const std::string& text) {
  if (!so) report_.failures.push_back(text);
}

void Stage::expect_recovery(double most_s) {
  const auto& seen = report_.verdict.recovery_s;
  if (!seen) return expect(false, "rule (g): not seen to recover");
  char text[80];
  (void)std::snprintf(text, sizeof text, "rule (g): recovered after %.1f s, not %.1f s", *seen,
                      most_s);
  expect(*seen <= most_s + 1e-9, text);
}

std::size_t Stage::errors(bool post, const std::string& name, Micros from) const {
  return static_cast<std::size_t>(
      std::count_if(history_.asked.begin(), history_.asked.end(), [&](const Asked& one) {
        return one.post == post && !is_good(one) && one.start >= from &&
               (name.empty() || name == name_of(one));
      }));
}

double Stage::until_state(const std::string& node, const std::string& state, Micros from) const {
  const bool other = state.starts_with('!');
  for (const auto& one : history_.weighed) {
    if (one.at < from || one.node != node) continue;
    if ((one.state == state.substr(other ? 1 : 0)) != other) {
      return static_cast<double>(one.at - from) / 1e6;
    }
  }
  return 1e9;
}

double Stage::part_of(const std::string& node, Micros from, Micros to) const {
  double all = 0, its = 0;
  for (const auto& one : history_.asked) {
    if (!is_good(one) || one.end < from || one.end > to) continue;
    all += 1;
    if (one.node == node) its += 1;
  }
  return all > 0 ? its / all : 0;
}

double Stage::quantile_ms(double q, Micros from, Micros to) const {
  std::vector<Micros> took;
  for (const auto& one : history_.asked) {
    if (one.start >= from && one.start <= to) took.push_back(one.end - one.start);
  }
  if (took.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(took.size() - 1));
  std::nth_element(took.begin(), took.begin() + at, took.end());
  return static_cast<double>(took[static_cast<std::size_t>(at)]) / 1e3;
}

void Stage::on_loop(const std::function<void()>& what) {
  std::promise<void> done;
  loop_.post([&] {
    what();
    done.set_value();
  });
  done.get_future().wait();
}

void Stage::relay(std::size_t node, const std::string& plan, bool also_open, bool reset) {
  on_loop([&] {
    relays_.at(node)->plan(plan_of(plan).value(), also_open);
    if (reset) relays_.at(node)->reset_all();
  });
}

}  // namespace steelyard::rigs
