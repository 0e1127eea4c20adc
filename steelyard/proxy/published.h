// What control publishes to the workers: one record {Config, Table}, both immutable and numbered,
// through one atomic pointer a worker (the latest wins).
//
// A worker reads the pointer once a turn, writes the record's number to `taken` and the oldest
// Config its exchanges still use to `oldest_config`. No Record, Table or index into one is kept
// beyond the turn; a Config is kept as long as its number is ≥ `oldest_config`. Records, Tables and
// Configs are destroyed by control only (publisher.h); a Config may be made on any thread.
//
// Threads: `record` is written by control, the Cells by the worker; both read all.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "steelyard/base/cell.h"
#include "steelyard/pick/table.h"
#include "steelyard/proxy/options.h"
#include "steelyard/request/exchange.h"
#include "steelyard/request/network.h"
#include "steelyard/request/router.h"
#include "steelyard/request/split.h"

namespace steelyard::proxy {

struct Route {
  request::Policy policy;
  std::vector<std::uint32_t> upstreams;  // places in Config::upstreams: one, or one a part of split
  request::Split split;
  std::vector<std::string> upgrades;  // protocols that may be changed to
  bool connect = false;
  std::optional<request::TraceOptions> trace;
};

struct ListenerConfig {
  base::Address address;
  std::string host;  // `address` as text: Host of requests that name none
  std::uint32_t max_connections = 0;
  std::vector<request::Router> routers;  // one, or one a worker: see `router`
  std::vector<Route> routes;             // in the routers' numbering
  std::vector<request::Network> trusted;

  // A worker's own where there are regular expressions: the engine locks what it learns of one.
  [[nodiscard]] const request::Router& router(std::uint32_t worker) const noexcept {
    return routers[worker < routers.size() ? worker : 0];
  }
};

struct Config {
  std::uint64_t number = 0;
  std::vector<std::string> upstreams;         // those that routes lead to, each once
  std::vector<request::UpstreamRules> rules;  // of `upstreams`
  std::vector<ListenerConfig> listeners;
  ClientOptions clients;
  PoolOptions pool;
  OverloadOptions overload;
  LogOptions log;
  bool log_answer_heads = false;  // its format wants fields of them

  // `number` must be greater than that of every Config before. `rules`: by upstream; those not
  // named go by the defaults. `workers`: how many will use it.
  static std::shared_ptr<const Config> make(std::uint64_t number, const Options& options,
                                            const std::vector<ListenerOptions>& listeners,
                                            const schema::Map<request::UpstreamRules>& rules = {},
                                            std::uint32_t workers = 1);
};

struct Record {
  std::uint64_t number = 0;
  std::shared_ptr<const Config> config;  // shared among control's records; a worker never copies it
  std::shared_ptr<const pick::Table> table;
};

struct alignas(base::kCacheLine) Published {
  std::atomic<const Record*> record{nullptr};
  alignas(base::kCacheLine) base::Cell<std::uint64_t> taken;  // number of the record in use
  base::Cell<std::uint64_t> oldest_config;                    // of those still in use
  base::Cell<std::uint64_t> turns;                            // heartbeat: grows with each turn
};

}  // namespace steelyard::proxy
