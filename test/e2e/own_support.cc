#include "test/e2e/own_support.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include "steelyard/io/crypto.h"

#include "test/paths.h"

namespace steelyard::e2e {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

// The port after the last colon of the first word behind `mark`.
std::uint16_t port_behind(const std::string& line, std::string_view mark) {
  const auto at = line.find(mark);
  if (at == std::string::npos) return 0;
  const auto word = line.substr(at + mark.size(), line.find(' ', at) - at - mark.size());
  return static_cast<std::uint16_t>(std::atoi(word.c_str() + word.rfind(':') + 1));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from < text.size();) {
    const auto end = text.find('\n', from);
    if (end == std::string::npos) break;  // not whole yet
    out.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t out = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

Json parse(const Response& response) {
  auto json = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json::object() : json;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

NodeState state_of(const Json& node) {
  NodeState out{.name = text_of(node["name"]),
                .address = text_of(node["address"]),
                .state = text_of(node["state"]),
                .reason = text_of(node["reason"]),
                .base = node["base"],
                .weight = node["weight"],
                .ramp = node["ramp"],
                .share_wanted = node["share_wanted"],
                .attempts = node["counts"]["attempts"],
                .override_weight = std::nullopt,
                .override_by = {}};
  if (const auto& set = node["override"]; set.is_object()) {
    out.override_weight = set["weight"].get<double>();
    out.override_by = text_of(set["by"]);
  }
  return out;
}

}  // namespace

Balancer::Balancer(const std::string& text, const std::vector<std::string>& more,
                   const std::string& binary) {
  write(text);
  std::vector<std::string> arguments{binary, "run", file()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  process_ = std::make_unique<Process>(arguments, dir_ / "log");
  (void)wait_until(
      [&] {
        ports_.clear();
        for (const auto& line : lines_of(log())) {
          if (const auto port = port_behind(line, "listening address=")) ports_.push_back(port);
          if (const auto port = port_behind(line, "admin url=http://")) admin_port_ = port;
        }
        return admin_port_ != 0 || process_->wait({}) >= 0;
      },
      seconds(20));
}

Balancer::~Balancer() {
  const std::string all = log();
  for (const std::string_view mark : {"runtime error: ", "Sanitizer: "}) {
    EXPECT_EQ(all.find(mark), std::string::npos) << all;
  }
}

pid_t Balancer::engine() const {
  const std::string mark = " engine_serves pid=";
  (void)says(mark);
  const std::string text = log();
  const auto at = text.rfind(mark);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + mark.size());
}

std::size_t Balancer::said(const std::string& what) const { return count(log(), what); }

void Balancer::write(const std::string& text) const {
  const std::string made = dir_ / "steelyard.yaml.new";
  write_text(made, text);
  std::filesystem::rename(made, file());
}

bool Balancer::reload() {
  const auto taken = [&] { return count(log(), " reloaded "); };
  const auto refused = [&] { return count(log(), " reload_refused "); };
  const auto before = taken();
  const auto refused_before = refused();
  process_->signal(SIGHUP);
  (void)wait_until([&] { return taken() > before || refused() > refused_before; }, seconds(10));
  return taken() > before;
}

Response Balancer::get(const std::string& path) const { return Client(admin_port_).get(path); }

std::vector<NodeState> Balancer::nodes(const std::string& upstream) const {
  std::vector<NodeState> out;
  const Json json = parse(get("/api/v1/upstreams/" + upstream));
  if (!json.contains("nodes")) return out;
  for (const auto& node : json["nodes"]) out.push_back(state_of(node));
  return out;
}

NodeState Balancer::node(const std::string& name, const std::string& upstream) const {
  for (auto& node : nodes(upstream)) {
    if (node.name == name) return node;
  }
  return {};
}

std::vector<DecisionLine> Balancer::decisions(const std::string& query) const {
  std::vector<DecisionLine> out;
  const Json json = parse(get("/api/v1/decisions" + query));
  if (!json.contains("decisions")) return out;
  for (const auto& d : json["decisions"]) {
    out.push_back({text_of(d["at"]), text_of(d["upstream"]), text_of(d["node"]),
                   text_of(d["change"]), text_of(d["reason"])});
  }
  return out;
}

std::optional<double> Balancer::metric(const std::string& name) const {
  for (const auto& line : lines_of(get("/metrics").body)) {
    if (line.starts_with(name + " ")) return std::strtod(line.c_str() + name.size(), nullptr);
  }
  return std::nullopt;
}

Response Balancer::adjust(const std::string& node, double weight, const std::string& more) const {
  const std::string body = "{\"node\":\"" + node + "\",\"weight\":" + number(weight) + more + "}";
  return Client(admin_port_)
      .send(
          "POST /api/adjust-weight HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
          "application/json\r\nX-API-Key: " +
          std::string(kKey) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
          body);
}

bool Balancer::node_becomes(const std::string& name,
                            const std::function<bool(const NodeState&)>& as,
                            std::chrono::milliseconds most) const {
  return wait_until([&] { return as(node(name)); }, most);
}

std::string admin_section(const std::string& more) {
  return "admin: { address: 127.0.0.1:0, keys: [{ name: tests, sha256: " +
         io::to_hex(io::sha256(kKey)) + " }]" + more + " }\n";
}

std::string nodes_line(const std::vector<Listed>& nodes) {
  std::string out = "    nodes:\n";
  for (const auto& node : nodes) {
    out += "      - { name: " + node.name + ", address: 127.0.0.1:" + std::to_string(node.port) +
           (node.weight ? ", weight: " + number(*node.weight) : std::string()) + " }\n";
  }
  return nodes.empty() ? "    nodes: []\n" : out;
}

std::string config(const std::vector<Listed>& nodes, const std::string& upstream,
                   const std::string& top) {
  return "listeners:\n  - address: 127.0.0.1:0\n    routes: [{ upstream: api }]\nupstreams:\n  "
         "api:\n" +
         nodes_line(nodes) + upstream + top + admin_section();
}

NodeProcess::NodeProcess(std::string name, std::vector<std::string> more)
    : name_(std::move(name)), more_(std::move(more)) {
  (void)start();
}

bool NodeProcess::start() {
  std::vector<std::string> arguments{
      test::binary(), "node", "--name", name_, "--listen", "127.0.0.1:" + std::to_string(port_)};
  arguments.insert(arguments.end(), more_.begin(), more_.end());
  write_text(dir_ / "log", "");
  process_ = std::make_unique<Process>(arguments, dir_ / "log");
  return wait_until(
      [&] {
        for (const auto& line : lines_of(log())) {
          const auto at = line.find("serves http://");
          if (at == std::string::npos) continue;
          port_ = static_cast<std::uint16_t>(std::atoi(line.c_str() + line.find(':', at + 14) + 1));
          return true;
        }
        return false;
      },
      seconds(20));
}

void NodeProcess::kill() {
  process_->signal(SIGKILL);
  (void)process_->wait(seconds(5));
}

Response NodeProcess::control(const std::string& json) const {
  return Client(port_).send("POST /control HTTP/1.1\r\nHost: n\r\nContent-Length: " +
                            std::to_string(json.size()) + "\r\n\r\n" + json);
}

Load::Load(std::uint16_t port, unsigned clients, double rate)
    : port_(port), gap_(rate > 0 ? clients / rate : 0) {
  for (unsigned i = 0; i < clients; ++i) threads_.emplace_back([this, i] { run(i); });
}

bool Load::wait_for(std::uint64_t more_good, std::chrono::milliseconds most) const {
  const auto until = good_ + more_good;
  return wait_until([&] { return good_ >= until; }, most);
}

Load::Totals Load::stop() {
  stop_ = true;
  return join();
}

Load::Totals Load::join() {
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  const std::lock_guard lock(mutex_);
  totals_.good = good_;
  return totals_;
}

void Load::run(unsigned index) {
  Client client(port_, seconds(10));
  Totals mine;
  const auto gap = std::chrono::duration_cast<std::chrono::steady_clock::duration>(gap_);
  auto due = std::chrono::steady_clock::now() + gap * (index % 8) / 8;  // out of step
  while (!stop_) {
    if (gap.count() > 0) std::this_thread::sleep_until(due += gap);
    const Response answer = client.get("/load");
    if (answer.status == 200) {
      ++good_;
      continue;
    }
    if (answer.error.starts_with("connect")) {
      ++mine.refused;
      if (end_when_refused_) break;
    } else {
      ++mine.failed;
    }
    if (mine.first_failure.empty()) {
      mine.first_failure = std::to_string(answer.status) + " " + answer.error + answer.body;
    }
  }
  const std::lock_guard lock(mutex_);
  totals_.failed += mine.failed;
  totals_.refused += mine.refused;
  totals_.resent += client.resent();
  totals_.connects += client.connects();
  if (totals_.first_failure.empty()) totals_.first_failure = mine.first_failure;
}

std::map<std::string, int> spread(std::uint16_t port, int requests, int connections) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < connections; ++i) clients.push_back(std::make_unique<Client>(port));
  std::map<std::string, int> out;
  for (int i = 0; i < requests; ++i) {
    const Response answer = clients[static_cast<std::size_t>(i % connections)]->get("/");
    ++out[answer.status == 200 ? answer.body
                               : std::to_string(answer.status) + " " + answer.error + answer.body];
  }
  return out;
}

}  // namespace steelyard::e2e
