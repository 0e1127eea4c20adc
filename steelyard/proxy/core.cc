#include "steelyard/proxy/core.h"

#include <algorithm>

namespace steelyard::proxy {

using base::TimePoint;

Core::Core(io::Reactor& with, const WorkerOptions& how, const model::Slots& nodes, Published& from,
           WorkerEvents& to)
    : reactor(with),
      options(how),
      slots(nodes),
      published(from),
      events(to),
      rng(how.seed),
      pools(nodes, how.index),
      http1_(how.http1 != nullptr ? how.http1 : http::make_http1_pool(how.limits)),
      clock_(with.timer(*this)) {
  constexpr std::string_view kHex = "0123456789abcdef";
  id_text_.fill('0');
  std::uint64_t prefix = rng();
  for (std::size_t i = 0; i < kIdPrefix; ++i, prefix >>= 4U) id_text_[i] = kHex[prefix & 15U];
}

Core::~Core() {
  for (auto& client : all_clients_) client->kill();
  for (auto& connection : all_node_connections_) connection->kill();
  deferred.settle();
}

// --- what is published

void Core::take_record() {
  const Record* const latest = published.record.load(std::memory_order_acquire);
  if (latest == nullptr || latest->number == record_number) {
    generations.drop_unused();
    if (const auto* const oldest = generations.oldest()) {
      published.oldest_config.set(oldest->config->number);
    }
    return;
  }
  // The last record is still alive, so a new Table cannot stand at its old address.
  const bool new_table = record == nullptr || latest->table != record->table;
  const bool new_config = config() != latest->config.get();
  record = latest;
  record_number = latest->number;
  if (new_table || new_config) generations.take(*latest->config, *latest->table->model);
  if (new_table) {
    cursors.adopt(*latest->table, rng);
    pools.adopt(*latest->table->model);
  }
  if (new_config) {
    place_listeners();
    let_clients_in();
    expire_oldest();
  }
  generations.drop_unused();
  published.oldest_config.set(generations.oldest()->config->number);
  published.taken.set(record_number);
  events.on_taken(record_number);
  deferred.settle();
}

void Core::turn(TimePoint until) {
  take_record();
  reactor.run_turn(until);
  while (ClientConnection* const client = closing.first()) client->kill();
  while (NodeConnection* const connection = closing_nodes.first()) connection->kill();
  deferred.settle();
  if (draining_) {
    go_on_draining(reactor.now());
    deferred.settle();
    check_finished();
  }
  drop_listenings();
  published.turns.add(1);
}

void Core::expire_oldest() noexcept {
  if (generations.size() <= Generations::kMost) return;
  const Generation* const oldest = generations.oldest();
  for (ClientConnection* client = clients.first(); client != nullptr; client = client->all.after) {
    for (Exchange* at = client->exchanges(); at != nullptr;) {
      Exchange& exchange = *at;
      at = at->next;
      if (exchange.generation() == oldest) exchange.expire();
    }
  }
}

// --- listeners

void Core::add_listener(const io::Fd& socket, const base::Address& address) {
  // Its Config was published before, maybe since this turn began, and its queue may hold clients
  // already, who are let in and heard within this turn.
  take_record();
  listenings_.push_back(std::make_unique<Listening>(*this, socket, address));
  place_listeners();
  let_clients_in();
}

void Core::remove_listener(const base::Address& address) {
  for (auto& listening : listenings_) {
    if (listening->address() == address) listening->stop();
  }
  let_clients_in();
  due_by(reactor.now() + kBeat);
}

// Each listener's part of the current Config. One that was removed goes on with the Config that had
// it, and counts as its user.
void Core::place_listeners() noexcept {
  Generation* const current = generations.current();
  if (current == nullptr) return;
  for (auto& listening : listenings_) {
    const auto& all = current->config->listeners;
    const auto at = std::find_if(all.begin(), all.end(), [&](const ListenerConfig& config) {
      return config.address == listening->address();
    });
    if (at != all.end()) {
      if (listening->removed) --listening->generation->users;
      listening->removed = false;
      listening->generation = current;
      listening->place = static_cast<std::size_t>(at - all.begin());
    } else if (!listening->removed && listening->generation != nullptr) {
      listening->removed = true;
      ++listening->generation->users;
    }
  }
}

void Core::let_clients_in() noexcept {
  constexpr unsigned kAhead = 64;
  const std::size_t limit = client_limit();
  std::size_t promised = clients.size();
  for (const auto& listening : listenings_) promised += listening->given();
  for (auto& listening : listenings_) {
    if (listening->stopped() || listening->given() >= kAhead / 2) continue;
    // What waits in a queue that is being emptied is let in above the limit: it would be lost.
    const unsigned want = kAhead - listening->given();
    const std::size_t room = promised < limit ? limit - promised : 0;
    const unsigned give =
        listening->open() ? static_cast<unsigned>(std::min<std::size_t>(want, room)) : want;
    listening->give(give);
    promised += give;
  }
}

std::size_t Core::client_limit() const noexcept {
  const auto* const now = config();
  if (now == nullptr) return 0;
  return std::max<std::size_t>(1, now->clients.max_connections / std::max(1U, options.workers));
}

void Core::listener_stopped(Listening& listening) noexcept {
  if (!draining_) close_idle_of(&listening);
  events.on_listener_stopped(listening.address());
}

void Core::close_idle_of(const Listening* listening) noexcept {
  for (ClientConnection* client = clients.first(); client != nullptr; client = client->all.after) {
    if (listening == nullptr || &client->listening() == listening) client->close_if_idle();
  }
}

void Core::drop_listenings() noexcept {
  if (std::none_of(listenings_.begin(), listenings_.end(), [](const auto& listening) {
        return listening->stopped() && listening->connections == 0;
      })) {
    return;
  }
  std::erase_if(listenings_, [](const auto& listening) {
    if (!listening->stopped() || listening->connections > 0) return false;
    if (listening->removed) --listening->generation->users;
    return true;
  });
}

// --- stopping

void Core::drain(TimePoint idle_until, TimePoint limit) {
  draining_ = true;
  idle_until_ = idle_until;
  limit_ = limit;
  for (auto& listening : listenings_) listening->stop();
  let_clients_in();
  due_by(reactor.now() + kBeat);
}

void Core::go_on_draining(TimePoint now) noexcept {
  if (now >= limit_) {
    // First they are told, and a little later they are closed.
    const bool told = std::exchange(told_, true);
    limit_ = now + kLastWords;
    for (ClientConnection* client = clients.first(); client != nullptr;) {
      ClientConnection& one = *client;
      client = client->all.after;
      if (told) one.kill();
      while (Exchange* const exchange = one.exchanges()) exchange->expire();
    }
    return;
  }
  const bool all_stopped = std::all_of(listenings_.begin(), listenings_.end(),
                                       [](const auto& listening) { return listening->stopped(); });
  if (all_stopped && now >= idle_until_) close_idle_of(nullptr);
}

void Core::check_finished() noexcept {
  const bool all_stopped = std::all_of(listenings_.begin(), listenings_.end(),
                                       [](const auto& listening) { return listening->stopped(); });
  if (finished_ || !all_stopped || !clients.empty() || live_exchanges > 0) return;
  finished_ = true;
  pools.close_all();
  deferred.settle();
  events.on_drained();
}

// --- objects

ClientConnection& Core::new_client() {
  if (free_clients_.empty()) {
    all_clients_.push_back(std::make_unique<ClientConnection>(*this));
    free_clients_.reserve(all_clients_.size());
    return *all_clients_.back();
  }
  ClientConnection& client = *free_clients_.back();
  free_clients_.pop_back();
  return client;
}

NodeConnection& Core::new_node_connection() {
  if (free_node_connections_.empty()) {
    all_node_connections_.push_back(std::make_unique<NodeConnection>(*this));
    free_node_connections_.reserve(all_node_connections_.size());
    return *all_node_connections_.back();
  }
  NodeConnection& connection = *free_node_connections_.back();
  free_node_connections_.pop_back();
  return connection;
}

Exchange& Core::new_exchange() {
  if (free_exchanges_ == nullptr) {
    all_exchanges_.push_back(std::make_unique<Exchange>(*this));
    return *all_exchanges_.back();
  }
  Exchange& exchange = *free_exchanges_;
  free_exchanges_ = exchange.next;
  exchange.next = nullptr;
  return exchange;
}

void Core::free(ClientConnection& client) noexcept {
  free_clients_.push_back(&client);
  let_clients_in();
}

void Core::free(NodeConnection& connection) noexcept {
  free_node_connections_.push_back(&connection);
}

void Core::free(Exchange& exchange) noexcept {
  exchange.next = free_exchanges_;
  free_exchanges_ = &exchange;
}

std::unique_ptr<http::ServerCodec> Core::server_codec(http::CodecEvents& to) {
  return options.server_codec ? options.server_codec(to) : http::make_http1_server(http1_, to);
}

std::unique_ptr<http::ClientCodec> Core::client_codec(http::CodecEvents& to) {
  return options.client_codec ? options.client_codec(to) : http::make_http1_client(http1_, to);
}

void Core::acquire(const model::TableNode& node, bool fresh, base::Duration timeout,
                   Attempt& attempt) {
  while (NodeConnection* const pooled = fresh ? nullptr : pools.take(node.ref)) {
    if (!pooled->open(attempt)) {
      pooled->kill();
      continue;
    }
    metrics.node_reuses.add(1);
    attempt.exchange->on_ready(attempt);
    return;
  }
  metrics.node_connects.add(1);
  NodeConnection& connection = new_node_connection();
  connection.connect(node.ref, node.address, timeout);
  (void)connection.open(attempt);
}

void Core::urgent(model::NodeRef node) noexcept {
  const auto now = reactor.now();
  if (now < next_urgent_) return;
  next_urgent_ = now + kUrgentGap;
  events.on_urgent(node);
}

// Counts in the text itself: mostly one digit changes.
std::string_view Core::next_request_id() noexcept {
  for (std::size_t i = id_text_.size(); i-- > kIdPrefix;) {
    char& digit = id_text_[i];
    if (digit != 'f') {
      digit = digit == '9' ? 'a' : static_cast<char>(digit + 1);
      break;
    }
    digit = '0';
  }
  return {id_text_.data(), id_text_.size()};
}

// --- the clock

void Core::due_by(TimePoint when) noexcept {
  if (when >= armed_) return;
  armed_ = when;
  clock_->at(when);
}

TimePoint Core::next_due() const noexcept {
  auto next = TimePoint::max();
  if (const auto* const now = config()) {
    next = std::min({next, waiting_head.next(now->clients.head_timeout),
                     idle.next(now->clients.idle_timeout), pools.next(now->pool.idle_timeout)});
  }
  return std::min({next, lingering.next(kLingerTime), lingering_nodes.next(kLingerTime)});
}

void Core::on_time() noexcept {
  armed_ = TimePoint::max();
  const auto now = reactor.now();
  const auto run = [now](Clients& list, base::Duration wait) {
    while (list.next(wait) <= now) {
      ClientConnection& client = *list.first();
      list.remove(client);
      client.on_due();
    }
  };
  if (const auto* const current = config()) {
    run(waiting_head, current->clients.head_timeout);
    run(idle, current->clients.idle_timeout);
    pools.retire(current->pool.idle_timeout, now);
  }
  run(lingering, kLingerTime);
  while (lingering_nodes.next(kLingerTime) <= now) lingering_nodes.first()->kill();
  bool emptying = false;
  for (auto& listening : listenings_) {
    listening->check_queue();
    emptying = emptying || listening->emptying();
  }
  deferred.settle();
  if (emptying || draining_) due_by(now + kBeat);
  if (const auto next = next_due(); next != TimePoint::max()) due_by(next);
}

}  // namespace steelyard::proxy
