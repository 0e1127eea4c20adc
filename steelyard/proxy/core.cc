#include "steelyard/proxy/core.h"

#include <algorithm>

#include "steelyard/proxy/access_log.h"

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
      states(how.workers, how.index),
      pools(nodes, how.index, metrics),
      wait_room(*this),
      http1_(how.http1 != nullptr ? how.http1 : http::make_http1_pool(how.limits)),
      addresses_(how.addresses != nullptr ? how.addresses
                                          : std::make_shared<AddressCounts>(how.seed)),
      clock_(with.timer(*this)) {
  constexpr std::string_view kHex = "0123456789abcdef";
  id_text_.fill('0');
  std::uint64_t prefix = rng();
  for (std::size_t i = 0; i < kIdPrefix; ++i, prefix >>= 4U) id_text_[i] = kHex[prefix & 15U];
}

Core::~Core() {
  for (const auto& client : client_pool_.all()) client->kill();
  for (const auto& connection : node_connection_pool_.all()) connection->kill();
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
  if (new_table || new_config) {
    generations.take(*latest->config, *latest->table->model);
    states.adopt(*latest->table->model, latest->config->upstreams, latest->config->rules, slots);
    wait_room.look();
  }
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
  const TimePoint now = reactor.woke();
  if (now >= next_memory_) check_memory(now);
  deferred.settle();
  if (draining_) {
    go_on_draining(reactor.now());
    deferred.settle();
    check_finished();
  }
  drop_listenings();
  if (now >= next_trim_) trim(now);
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
  if (listenings_.back()->can_look() && look_at_ == TimePoint::max()) {
    look_at_ = reactor.now() + Listening::kLook;
    due_by(look_at_);
  }
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

void Core::hand_over(const base::Address& address) {
  for (auto& listening : listenings_) {
    if (listening->address() == address) listening->hand_over();
  }
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
  const bool all_full = limit > 0 && clients.size() >= limit;
  if (all_full && !full_) metrics.limit_reached.add(1);
  full_ = all_full;
  for (auto& listening : listenings_) {
    if (listening->stopped() || listening->given() >= kAhead / 2) continue;
    // What waits in a queue that is being emptied is let in above the limits: it would be lost.
    const std::size_t want = kAhead - listening->given();
    const std::size_t room = promised < limit ? limit - promised : 0;
    const std::size_t taken = listening->connections + listening->given();
    const std::size_t own = listening->most() > taken ? listening->most() - taken : 0;
    const bool full = listening->connections >= listening->most();
    if (full && !listening->full) metrics.listener_full.add(1);
    listening->full = full;
    const auto give = static_cast<unsigned>(listening->open() ? std::min({want, room, own}) : want);
    listening->give(give);
    promised += give;
  }
}

bool Core::admit(const base::Address& peer, bool& counted) noexcept {
  const auto* const now = config();
  const auto limit = now == nullptr ? 0U : now->clients.max_connections_per_address;
  if (limit == 0) return true;
  counted = addresses_->enter(peer, limit);
  return counted;
}

std::size_t Core::client_limit() const noexcept {
  const auto* const now = config();
  if (now == nullptr) return 0;
  const auto most = now->clients.max_connections;
  return share(options.most_clients > 0 ? std::min(most, options.most_clients) : most);
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

// --- the access log

std::string_view Core::date() noexcept {
  const auto now = std::chrono::floor<std::chrono::seconds>(options.wall());
  if (now != std::exchange(date_of_, now)) http::write_date(now, date_text_.data());
  return {date_text_.data(), date_text_.size()};
}

void Core::log(const AccessFacts& facts) noexcept {
  if (!logging()) return;
  const double sample = config()->log.sample;
  if (sample < 1 && facts.status < 500 && rng.unit() >= sample) return;
  options.access->note(facts);
}

// --- objects

ClientConnection& Core::new_client() { return client_pool_.take(*this); }

NodeConnection& Core::new_node_connection() { return node_connection_pool_.take(*this); }

Exchange& Core::new_exchange() { return exchange_pool_.take(*this); }

void Core::free(ClientConnection& client) noexcept {
  client_pool_.give(client);
  let_clients_in();
}

void Core::free(NodeConnection& connection) noexcept { node_connection_pool_.give(connection); }

void Core::free(Exchange& exchange) noexcept { exchange_pool_.give(exchange); }

std::unique_ptr<http::ServerCodec> Core::server_codec(http::CodecEvents& to) {
  return options.server_codec ? options.server_codec(to) : http::make_http1_server(http1_, to);
}

std::unique_ptr<http::ClientCodec> Core::client_codec(http::CodecEvents& to) {
  return options.client_codec ? options.client_codec(to) : http::make_http1_client(http1_, to);
}

void Core::acquire(const model::TableNode& node, bool fresh, base::Duration timeout,
                   Attempt& attempt) {
  const bool careful = !attempt.exchange->idempotent();
  while (NodeConnection* const pooled =
             fresh ? nullptr : pools.take(node.ref, careful, config()->pool, reactor.now())) {
    if (!pooled->open(attempt)) {
      pooled->kill();
      continue;
    }
    metrics.node_reuses.add(1);
    attempt.exchange->on_ready(attempt);
    return;
  }
  if (!fresh) metrics.pool_misses.add(1);
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
  if (config() != nullptr) {
    next = std::min({next, waiting_head.next(head_wait()), idle.next(idle_wait()), pools.next()});
  }
  return std::min({next, look_at_, paced.next(Pace::kStep), cut.next(kCutLook),
                   lingering.next(kLingerTime), lingering_nodes.next(kLingerTime)});
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
    run(waiting_head, head_wait());
    run(idle, idle_wait());
    pools.retire(current->pool, now);
  }
  run(paced, Pace::kStep);
  run(cut, kCutLook);
  run(lingering, kLingerTime);
  while (lingering_nodes.next(kLingerTime) <= now) lingering_nodes.first()->kill();
  if (now >= look_at_) {
    for (auto& listening : listenings_) listening->look();
    look_at_ = listenings_.empty() ? TimePoint::max() : now + Listening::kLook;
  }
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
