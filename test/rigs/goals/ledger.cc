// L10: as many requests as 100,000 a second for a minute, none of them answered wrong.
#include <cmath>
#include <cstdio>

#include "test/rigs/goals/count_client.h"
#include "test/rigs/goals/field.h"

namespace steelyard::rigs {

Goal no_wrong_answer(const Settings& settings) {
  Goal goal("L10", std::to_string(settings.requests) + " requests in the ledger");
  CountLedger ledger(settings.requests);
  std::vector<std::unique_ptr<QuickNode>> nodes;
  std::vector<std::uint16_t> ports;
  for (int i = 0; i < 4; ++i) {
    nodes.push_back(std::make_unique<QuickNode>(NodeOptions{.ledger = &ledger}));
    ports.push_back(nodes.back()->port());
  }
  // Two workers and no processor of their own: what they share is what could go wrong.
  const auto ours = start_ours(settings, ports, {.workers = 2, .pinned = false});
  if (ours == nullptr) {
    goal.broken("steelyard did not start");
    return goal;
  }
  CountClient client(ledger, {"127.0.0.1", ours->port()}, 256, 1);
  const auto from = Clock::now();
  client.run();
  const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
  const auto sums = ledger.sums(settings.requests);
  goal.at_most("crossed", static_cast<double>(sums.crossed), 0, "");
  goal.at_most("lost", static_cast<double>(sums.lost), 0, "");
  goal.at_most("duplicated", static_cast<double>(sums.duplicated), 0, "");
  // The last answers reach the counters a tick later.
  double nodes_say = 0, listeners_say = 0;
  const auto wanted = static_cast<double>(settings.requests);
  (void)wait_until(
      [&] {
        nodes_say = ours->metric("steelyard_upstream_attempts_total{upstream=\"api\"");
        listeners_say = ours->metric("steelyard_http_requests_total");
        return nodes_say == wanted && listeners_say == wanted;
      },
      std::chrono::seconds(3));
  goal.at_most("counters beside it",
               std::fabs(nodes_say - wanted) + std::fabs(listeners_say - wanted), 0, "");
  char text[80];
  (void)std::snprintf(text, sizeof text, "%.0f requests/s for %.0f s", wanted / seconds, seconds);
  goal.note(text);
  if (client.failed() > 0) goal.note(std::to_string(client.failed()) + " ended without a 200");
  return goal;
}

}  // namespace steelyard::rigs
