// What one worker counts, as Cells: written by the worker, read by control and the admin API.
// Counters only grow. The table at the end names them for the exposition.
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
  std::array<Count, 6>
      answers;  // by hundreds of the status; [0]: given up by the client before an answer
  std::array<Count, request::kReasons> own_answers;  // made by us, by reason (also in `answers`)
  Count aborted;       // answers that had begun and could not be completed
  Count retries;       // attempts after the first
  Count stale;         // of which after a reused connection died
  Count bad_requests;  // refused by the codec before there was an exchange
  Count accepted;      // client connections
  Count closed;
  Count node_connects;                  // connections opened to nodes
  Count node_reuses;                    // attempts on a pooled connection
  Count received;                       // bytes from clients
  Count sent;                           // bytes to clients
  base::Cell<std::uint64_t> exchanges;  // in progress now
  base::CellHistogram duration;         // head of the request → end of the answer
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
    MetricName{"proxy_bad_requests_total", "Requests refused before they were an exchange.",
               &WorkerMetrics::bad_requests},
    MetricName{"proxy_client_connections_accepted_total", "Client connections accepted.",
               &WorkerMetrics::accepted},
    MetricName{"proxy_client_connections_closed_total", "Client connections closed.",
               &WorkerMetrics::closed},
    MetricName{"proxy_node_connects_total", "Connections opened to nodes.",
               &WorkerMetrics::node_connects},
    MetricName{"proxy_node_reuses_total", "Attempts made on a pooled connection.",
               &WorkerMetrics::node_reuses},
    MetricName{"proxy_received_bytes_total", "Bytes received from clients.",
               &WorkerMetrics::received},
    MetricName{"proxy_sent_bytes_total", "Bytes sent to clients.", &WorkerMetrics::sent},
};

}  // namespace steelyard::proxy
