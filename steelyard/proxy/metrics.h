// What one worker counts, as Cells: written by the worker, read by control and the admin API.
// Counters only grow. The tables at the end name them for the exposition.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "steelyard/base/cell.h"
#include "steelyard/base/histogram.h"
#include "steelyard/request/reason.h"

namespace steelyard::proxy {

struct alignas(base::kCacheLine) WorkerMetrics {
  using Count = base::Cell<std::uint64_t>;
  // By hundreds of the status; [0]: given up by the client before an answer; [6]: any other.
  static constexpr std::size_t kClasses = 7;
  [[nodiscard]] static constexpr std::size_t class_of(unsigned status) noexcept {
    return status >= 100 && status < 600 ? status / 100 : kClasses - 1;
  }
  std::array<Count, kClasses> answers;
  std::array<Count, request::kReasons> own_answers;  // made by us, by reason (also in `answers`)
  Count aborted;       // answers that had begun and could not be completed
  Count retries;       // attempts after the first
  Count stale;         // of which after a reused connection died
  Count hedges;        // of which beside an attempt that went on
  Count hedges_won;    // … and answered first
  Count denied;        // tries that the budget did not allow
  Count tunnels;       // opened, by upgrade or CONNECT
  Count queued;        // exchanges that waited for a node at its limit
  Count bad_requests;  // refused by the codec
  // Of which by status; [0]: any other.
  static constexpr std::array<std::uint16_t, 10> kRefusals{0,   400, 405, 408, 413,
                                                           414, 417, 431, 501, 505};
  std::array<Count, kRefusals.size()> refusals;
  Count idle_closed;       // connections without a request whose time was over
  Count used_up;           // … that had their last request
  Count slow_bodies;       // given up because the request's body came too slowly
  Count slow_readers;      // … because the client did not take its answer
  Count address_refused;   // connections closed at once: their address has too many
  Count limit_reached;     // times that accepting stopped at clients.max_connections
  Count listener_full;     // … at a listener's max_connections
  Count overload_refused;  // requests answered with 503 by overload
  Count overload_shed;     // exchanges broken off by overload
  Count overload_entered;  // times that overload went from calm to a stage
  Count accepted;          // client connections
  Count closed;
  Count node_connects;                  // connections opened to nodes
  Count node_reuses;                    // attempts on a pooled connection
  Count pool_misses;                    // attempts that would have used one, had there been one
  Count pool_evicted;                   // pooled connections closed because the pool was full
  Count pool_retired;                   // … because they had been idle long enough
  Count pool_died;                      // … by the node, idle or as a request was on its way
  Count pool_distrusted;                // … because the node had been silent
  Count cut_connections;                // not idle when the time for draining was over
  Count cut_exchanges;                  // … in progress
  Count cut_tunnels;                    // of which were tunnels
  Count received;                       // bytes from clients
  Count sent;                           // bytes to clients
  base::Cell<std::uint64_t> exchanges;  // in progress now
  base::Cell<std::uint64_t> tunnels_open;
  base::Cell<std::uint64_t> waiting;  // of which in a queue
  base::Cell<std::uint64_t> clients;  // connections now
  base::Cell<std::uint64_t> memory;   // bytes held in buffers
  base::Cell<std::uint64_t> stage;    // of overload
  Count trimmed;                      // bytes freed because no load of the last minute needed them
  base::CellHistogram duration;       // head of the request → end of the answer
  base::CellHistogram connect_time;   // of connections to nodes
};

struct MetricName {
  std::string_view name;  // without the prefix, in Prometheus' style
  std::string_view help;
  base::Cell<std::uint64_t> WorkerMetrics::* count;
};
inline constexpr std::array kWorkerCounters{
    MetricName{"proxy_aborted_answers_total", "Answers that began and could not be completed.",
               &WorkerMetrics::aborted},
    MetricName{"proxy_retries_total", "Attempts after the first of an exchange.",
               &WorkerMetrics::retries},
    MetricName{"proxy_stale_connections_total",
               "Attempts repeated because a reused connection died under them.",
               &WorkerMetrics::stale},
    MetricName{"proxy_hedges_total", "Attempts made beside one that was slow.",
               &WorkerMetrics::hedges},
    MetricName{"proxy_hedges_won_total", "Hedges that answered before the attempt they stood by.",
               &WorkerMetrics::hedges_won},
    MetricName{"proxy_retries_denied_total",
               "Retries and hedges that the upstream's retry budget did not allow.",
               &WorkerMetrics::denied},
    MetricName{"proxy_tunnels_total", "Tunnels opened, by upgrade or CONNECT.",
               &WorkerMetrics::tunnels},
    MetricName{"proxy_queued_total",
               "Exchanges that waited in a queue because every node was at its limit.",
               &WorkerMetrics::queued},
    MetricName{"proxy_bad_requests_total", "Requests refused before they were an exchange.",
               &WorkerMetrics::bad_requests},
    MetricName{"proxy_slow_bodies_total",
               "Requests given up because their body came more slowly than clients.min_rate.",
               &WorkerMetrics::slow_bodies},
    MetricName{"proxy_slow_readers_total",
               "Client connections closed because their answer was not taken in "
               "clients.write_timeout.",
               &WorkerMetrics::slow_readers},
    MetricName{"proxy_idle_closed_total",
               "Client connections closed because no request came in clients.idle_timeout, or no "
               "first one in clients.head_timeout.",
               &WorkerMetrics::idle_closed},
    MetricName{"proxy_requests_limit_reached_total",
               "Client connections that had clients.max_requests requests.",
               &WorkerMetrics::used_up},
    MetricName{"proxy_address_refused_total",
               "Client connections closed at once by clients.max_connections_per_address.",
               &WorkerMetrics::address_refused},
    MetricName{"proxy_client_limit_reached_total",
               "Times that accepting stopped at clients.max_connections.",
               &WorkerMetrics::limit_reached},
    MetricName{"proxy_listener_limit_reached_total",
               "Times that accepting stopped at a listener's max_connections.",
               &WorkerMetrics::listener_full},
    MetricName{"proxy_overload_refused_total", "Requests answered with 503 by overload.",
               &WorkerMetrics::overload_refused},
    MetricName{"proxy_overload_shed_total", "Exchanges broken off by overload.",
               &WorkerMetrics::overload_shed},
    MetricName{"proxy_overload_entered_total", "Times that a worker became overloaded.",
               &WorkerMetrics::overload_entered},
    MetricName{"proxy_client_connections_accepted_total", "Client connections accepted.",
               &WorkerMetrics::accepted},
    MetricName{"proxy_client_connections_closed_total", "Client connections closed.",
               &WorkerMetrics::closed},
    MetricName{"proxy_node_connects_total", "Connections opened to nodes.",
               &WorkerMetrics::node_connects},
    MetricName{"proxy_node_reuses_total", "Attempts made on a pooled connection.",
               &WorkerMetrics::node_reuses},
    MetricName{"proxy_pool_misses_total",
               "Attempts that found no pooled connection to their node and had to connect.",
               &WorkerMetrics::pool_misses},
    MetricName{"proxy_pool_evicted_total",
               "Pooled connections closed because the pool was full: with many misses, "
               "pool.connections is too small.",
               &WorkerMetrics::pool_evicted},
    MetricName{"proxy_pool_retired_total", "Pooled connections closed after their idle time.",
               &WorkerMetrics::pool_retired},
    MetricName{"proxy_pool_died_total",
               "Pooled connections that the node closed, idle or as a request was on its way: "
               "pool.idle_timeout is too long.",
               &WorkerMetrics::pool_died},
    MetricName{"proxy_pool_distrusted_total",
               "Pooled connections closed because their node had been silent for a time-out.",
               &WorkerMetrics::pool_distrusted},
    MetricName{"proxy_received_bytes_total", "Bytes received from clients.",
               &WorkerMetrics::received},
    MetricName{"proxy_sent_bytes_total", "Bytes sent to clients.", &WorkerMetrics::sent},
};

inline constexpr std::array kWorkerGauges{
    MetricName{"http_exchanges", "Exchanges in progress.", &WorkerMetrics::exchanges},
    MetricName{"proxy_client_connections", "Client connections open.", &WorkerMetrics::clients},
    MetricName{"proxy_buffer_bytes", "Bytes that traffic holds in buffers (overload.memory).",
               &WorkerMetrics::memory},
};

}  // namespace steelyard::proxy
