#include "test/proxy/sim_rig.h"

#include <algorithm>
#include <cstdlib>

namespace steelyard::proxy::testing {

void Conn::reset() {
  open = false;
  peer->reset();
}

bool Conn::next_request(std::string& whole) {
  const auto end = in.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  std::size_t size = end + 4;
  const std::string_view head(in.data(), size);
  if (const auto at = head.find("Content-Length: "); at != std::string_view::npos) {
    size += std::strtoul(in.c_str() + at + 16, nullptr, 10);
  } else if (head.find("Transfer-Encoding: chunked") != std::string_view::npos) {
    const auto last = in.find("0\r\n\r\n", end + 2);
    if (last == std::string::npos) return false;
    size = last + 5;
  }
  if (in.size() < size) return false;
  whole = in.substr(0, size);
  in.erase(0, size);
  ++requests;
  return true;
}

SimNode::SimNode(io::SimReactor& sim, std::uint16_t port, Script with)
    : script(std::move(with)), sim_(sim), address_(base::Address::loopback(port)) {
  socket_ = sim_.listener(address_);
  listener_ = sim_.listen(socket_, *this);
  listener_->grant(100'000);
}

void SimNode::on_accept(io::Fd socket, const base::Address& /*peer*/) noexcept {
  conns.emplace_back();
  conns.back().peer = sim_.peer(std::move(socket));
}

void SimNode::stop_listening() {
  listener_.reset();
  socket_.reset();
}

std::size_t SimNode::open() const {
  return static_cast<std::size_t>(std::count_if(conns.begin(), conns.end(), [](const Conn& c) {
    return c.open && !c.peer->was_reset() && !c.peer->ended();
  }));
}

void SimNode::pump() {
  for (auto& conn : conns) {
    if (!conn.open) continue;
    if (conn.reads) {
      const auto text = conn.peer->read(1 << 20);
      conn.got += text.size();
      conn.in += text;
    }
    script(*this, conn);
    if (!conn.open) continue;
    if (!conn.out.empty()) conn.out.erase(0, conn.peer->send(conn.out));
    if (conn.out.empty() && conn.end_after) {
      conn.end_after = false;
      conn.peer->end();
    }
  }
}

void answer_ok(SimNode& node, Conn& conn) {
  std::string whole;
  while (conn.next_request(whole)) {
    ++node.requests;
    node.seen.push_back(whole);
    conn.send(kOk);
  }
}

int SimClient::status() const { return in.size() < 12 ? 0 : std::atoi(in.c_str() + 9); }

std::string SimClient::body() const {
  const auto end = in.find("\r\n\r\n");
  return end == std::string::npos ? "" : in.substr(end + 4);
}

SimRig::SimRig(Setup with) : setup(std::move(with)) {
  io::SimOptions how;
  how.seed = setup.seed;
  how.partial = setup.partial;
  how.receive_buffer = setup.receive_buffer;
  how.socket_buffer = setup.socket_buffer;
  sim = io::make_sim_reactor(how);
  began = sim->now();
  socket = sim->listener(address);
  WorkerOptions options;
  options.seed = setup.seed;
  options.http1 = http1;
  options.server_codec = setup.server_codec;
  options.access = setup.access;
  options.addresses = setup.addresses;
  options.wall = [this] { return wall(); };
  worker = std::make_unique<Worker>(*sim, options, slots, publisher.cell(0), *this);
  worker->add_listener(socket, address);
  publish_config();
}

SimRig::~SimRig() {
  clients.clear();
  worker.reset();
  nodes.clear();
}

SimNode& SimRig::add_node(SimNode::Script script) {
  nodes.emplace_back(*sim, static_cast<std::uint16_t>(9000 + nodes.size()), std::move(script));
  refs.push_back(*slots.claim());
  listed.push_back(true);
  weights.push_back(1);
  publish();
  return nodes.back();
}

void SimRig::publish() {
  auto made = std::make_shared<model::Table>();
  made->number = ++tables_;
  model::TableUpstream upstream{"api", {}, false};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!listed[i]) continue;
    model::TableNode node;
    node.ref = refs[i];
    node.name = std::string(1, static_cast<char>('a' + i));
    node.address = nodes[i].address();
    node.weight = weights[i];
    upstream.nodes.push_back(node);
  }
  made->upstreams.push_back(std::move(upstream));
  table_ = pick::Table::make(std::move(made), {pick::find(setup.picker)});
  publisher.publish(config_, table_);
  publisher.collect(now());
}

void SimRig::publish_config() {
  ListenerOptions listener = setup.listener;
  listener.address = address;
  request::RouteOptions route;
  route.upstream = "api";
  route.timeouts = setup.timeouts;
  route.retry = setup.retry;
  route.hedge = setup.hedge;
  route.upgrades = setup.upgrades;
  route.connect = setup.connect;
  route.match = setup.match;
  route.trace = setup.trace;
  listener.routes.push_back(route);
  config_ = Config::make(++configs_, setup.options, {listener}, {{{"api", setup.rules}}});
  if (table_ == nullptr) {
    publish();
  } else {
    publisher.publish(config_, table_);
    publisher.collect(now());
  }
}

SimClient& SimRig::dial() {
  clients.emplace_back();
  clients.back().peer = sim->dial(address);
  return clients.back();
}

void SimRig::pump() {
  for (auto& node : nodes) node.pump();
  for (auto& client : clients) {
    if (client.peer == nullptr) continue;
    if (client.reads) client.in += client.peer->read(1 << 20);
    if (!client.out.empty()) client.out.erase(0, client.peer->send(client.out));
  }
}

void SimRig::run(base::Duration time, base::Duration step) {
  const auto end = now() + time;
  do {
    pump();
    worker->turn(std::min(end, now() + step));
    publisher.collect(now());
  } while (now() < end);
  pump();
}

bool SimRig::until(const std::function<bool()>& done, base::Duration limit) {
  const auto end = now() + limit;
  while (now() < end) {
    pump();
    if (done()) return true;
    worker->turn(std::min(end, now() + 10ms));
    publisher.collect(now());
  }
  return done();
}

unsigned SimRig::in_flight() const {
  unsigned sum = 0;
  for (const auto ref : refs) sum += slots.in_flight(ref);
  return sum;
}

std::uint64_t SimRig::pooled() const {
  std::uint64_t sum = 0;
  for (const auto ref : refs) sum += slots.cells(ref, 0).pooled.read();
  return sum;
}

}  // namespace steelyard::proxy::testing
