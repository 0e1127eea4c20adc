// Nodes that die, freeze, refuse, cut off and answer what is none.

#include <array>
#include <csignal>

#include "test/rigs/faults/faults.h"
#include "test/rigs/lib/crowd.h"

namespace steelyard::rigs {
namespace {

constexpr Micros kSecond = 1'000'000;
const std::map<std::string, double> kEqual{{"n1", 0.25}, {"n2", 0.25}, {"n3", 0.25}, {"n4", 0.25}};

// A relay takes time: in front of one node alone it would take from that one's share.
const std::set<std::size_t> kAll{0, 1, 2, 3};

// At 500 requests a second hardly one is in flight on a node at a time; what a loaded machine piles
// up stays below this.
constexpr std::size_t kInFlight = 6;

Report killed_idle(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  stage.rules.post = {"502"};
  stage.rules.targets = kEqual;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  stage.node(0).kill();
  pause(1.5);
  stage.expect(stage.node(0).start(), "n1 did not start again");
  stage.fault_ends();
  stage.settle(4);
  stage.expect(stage.errors(false) == 0, "GETs failed");
  stage.expect(stage.errors(true) <= kInFlight, "more POSTs failed than were in flight");
  const auto from = stage.rules.fault_from;
  stage.expect(stage.until_state("n1", "!usable", from) <= 1, "n1 was not out within 1 s");
  stage.expect(stage.until_state("n1", "usable", from + kSecond) <= 4,
               "n1 was not back 3 s after its cooldown of 2 s");
  stage.expect_recovery(5);
  return stage.finish();
}

Report killed_in_answer(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  stage.rules.any = {"truncated"};
  stage.rules.post = {"502"};
  stage.rules.targets = kEqual;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  stage.node(0).control("die_after=1000\n");
  stage.expect(wait_until([&] { return !stage.node(0).running(); }, std::chrono::seconds(5)),
               "n1 did not die");
  pause(1);
  stage.expect(stage.node(0).start(), "n1 did not start again");
  stage.fault_ends();
  stage.settle(4);
  stage.expect(stage.errors(false, "truncated") >= 1, "no answer was seen to be cut off");
  stage.expect(stage.errors(false) <= kInFlight, "more GETs failed than were in flight");
  for (const auto& one : stage.history().asked) {
    if (one.outcome != Outcome::kTruncated) continue;
    std::size_t seen = 0;
    for (const auto& event : stage.history().served) seen += event.id == one.id && !event.whole;
    stage.expect(seen == 1, "an answer that had begun was tried again");
  }
  stage.expect_recovery(5);
  return stage.finish();
}

Report refused(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what,
              {.top = "pool: { connections: 0 }\n", .relayed = kAll});
  stage.rules.targets = kEqual;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  stage.on_loop([&] { stage.relay_of(0).listen(false); });
  pause(1.5);
  const auto view = stage.balancer().api("/api/v1/upstreams/api");
  stage.on_loop([&] { stage.relay_of(0).listen(true); });
  stage.fault_ends();
  stage.settle(4);
  stage.expect(stage.errors() == 0, "requests failed");
  stage.expect(stage.until_state("n1", "!usable", stage.rules.fault_from) <= 0.5, "n1 was not out");
  if (view.is_object() && view.contains("nodes")) {
    const int failures = view["nodes"][0]["counts"]["connect_failures"];
    stage.expect(failures >= 1 && failures <= 3,
                 std::to_string(failures) + " connects failed before it was out, at most 3 may");
  }
  stage.expect_recovery(4);  // its cooldown of 2 s, and 2 s
  return stage.finish();
}

Report reset_in_body(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {.relayed = kAll, .large = 0.2});
  stage.rules.post = {"502"};
  stage.rules.targets = kEqual;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  stage.relay(0, "up.rst=60000", true);
  pause(3);
  stage.relay(0, "", true);
  stage.fault_ends();
  stage.settle(3);
  stage.expect(stage.errors(true, "502") >= 1, "no POST was hit");
  stage.expect(stage.errors(false) == 0, "GETs failed");
  stage.expect_recovery(1);
  return stage.finish();
}

Report half_closed(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {.relayed = kAll});
  stage.rules.any = {"502"};
  stage.rules.targets = kEqual;
  stage.rules.deadline = 3 * kSecond;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  stage.relay(0, "down.fin=0", true);
  pause(2);
  stage.relay(0, "", true, true);
  stage.fault_ends();
  stage.settle(4);
  stage.expect(stage.errors(false) == 0, "GETs were not tried again");
  stage.expect_recovery(5);
  return stage.finish();
}

void no_node_left(Stage& stage) {
  const auto before = Clock::now();
  const auto answer = ask_get(stage.balancer().port(), "/nobody");
  const auto took = std::chrono::duration<double, std::milli>(Clock::now() - before).count();
  stage.expect(answer.status == 503,
               "without a node: " + std::to_string(answer.status) + ", not 503");
  stage.expect(answer.head.find("etry-") != std::string::npos, "503 without Retry-After");
  stage.expect(took < 50, "503 took " + std::to_string(took) + " ms");
}

Report all_down(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  stage.rules.any = {"502", "503"};
  stage.rules.targets = kEqual;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  for (std::size_t i = 0; i < 4; ++i) stage.node(i).kill();
  const auto killed = now_us();
  pause(1);
  no_node_left(stage);
  pause(1);
  for (std::size_t i = 0; i < 4; ++i) {
    stage.expect(stage.node(i).start(), "a node did not start again");
  }
  stage.fault_ends();
  stage.rules.grace = 2 * kSecond;
  stage.settle(4);
  // A request that a node took with it may not go to more than one other (a POST to none), and that
  // one dies next; the first ones that are refused by two cannot know of the other two. Then each
  // refusal is known.
  const auto late = killed + kSecond / 10;
  stage.expect(stage.errors(false, "502") + stage.errors(true, "502") <= 4 * kInFlight,
               "502 beyond what was in flight");
  stage.expect(stage.errors(false, "502", late) + stage.errors(true, "502", late) == 0,
               "502, not 503, when all nodes had been down for 100 ms");
  const auto from = stage.rules.fault_from, to = stage.rules.fault_to;
  stage.expect(stage.quantile_ms(0.99, from + kSecond / 2, to) < 50, "503s took long");
  std::map<Micros, double> herd;  // arrivals at the nodes by second
  for (const auto& event : stage.history().served) {
    if (!event.whole && event.at > to) herd[(event.at - to) / kSecond] += 1;
  }
  for (const auto& [second, count] : herd) {
    stage.expect(count <= 1.2 * stage.options().rate + 25,
                 std::to_string(count) + " requests in one second at the nodes");
  }
  stage.expect_recovery(2);
  return stage.finish();
}

Report frozen(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  stage.rules.any = {"504"};
  stage.rules.targets = kEqual;
  stage.rules.grace = 2500 * 1000;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  stage.node(0).signal(SIGSTOP);
  pause(5);
  stage.node(0).signal(SIGCONT);
  stage.fault_ends();
  stage.settle(4);
  stage.expect(stage.errors() <= 64, "more failures than connections in the pools");
  stage.expect_recovery(6);
  return stage.finish();
}

Report surplus_bytes(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {.rate = 1500, .large = 0});
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  stage.node(0).control("misbehave=surplus\n");
  pause(6);
  stage.on_loop([&] { stage.client().rate(30); });  // the pool idles longer than 20 ms
  stage.node(0).control("misbehave=late-surplus\n");
  pause(2);
  stage.node(0).control("misbehave=none\n");
  stage.fault_ends();
  stage.on_loop([&] { stage.client().rate(500); });
  stage.settle(1);
  std::size_t during = 0;
  for (const auto& one : stage.history().asked) during += one.start >= stage.rules.fault_from;
  stage.expect(during > 9000, "too few requests to tell");
  stage.note(std::to_string(during) + " requests beside the poisoning node");
  stage.expect_recovery(1);
  return stage.finish();
}

Report malformed(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  // A head that went out before the fault in its body showed: the cut may overtake it.
  stage.rules.any = {"502", "504", "truncated", "reset"};
  stage.rules.targets = kEqual;
  stage.rules.grace = 2500 * 1000;
  if (!stage.steady()) return stage.finish();
  stage.fault_begins();
  stage.node(0).control("misbehave=cases\n");
  pause(4);
  stage.node(0).control("misbehave=none\n");
  stage.fault_ends();
  const double failed = stage.balancer().metric(
      R"(steelyard_upstream_attempts_total{upstream="api",node="n1",result="failure")");
  stage.settle(4);
  // GETs are tried again elsewhere: what clients see is less than what the node did.
  stage.expect(failed >= 3, std::to_string(failed) + " attempts failed on n1, too few to tell");
  stage.note(std::to_string(static_cast<int>(failed)) + " attempts failed on n1");
  stage.expect(stage.until_state("n1", "!usable", stage.rules.fault_from) <= 3,
               "n1 was not ejected");
  // At a quarter of the load, out for most of the time.
  stage.expect(stage.errors() < 200, std::to_string(stage.errors()) + " errors");
  stage.expect_recovery(6);
  return stage.finish();
}

std::string get_1m() {
  return "GET /warm HTTP/1.1\r\nHost: a\r\nX-Ledger-Nonce: 1\r\nX-Ledger-Size: 1048576\r\n\r\n";
}

Report endless_heads(Context& context, const Fault& fault) {
  Stage stage(context, fault.name, fault.what, {});
  stage.rules.any = {"502"};
  stage.rules.targets = kEqual;
  stage.rules.grace = 2500 * 1000;
  if (!stage.steady()) return stage.finish();
  // The receive buffers are a fixed set that comes into use bit by bit, as much of each as one read
  // brings. Bodies of the same size bring all of it into use; what heads cost beyond that is
  // theirs.
  Crowd warm(
      {.to = {"127.0.0.1", stage.balancer().port()}, .connections = 40, .request = get_1m()});
  stage.expect(warm.open_all(5), "the connections for warming up did not come up");
  for (std::size_t round = 1; round <= 4; ++round) {
    warm.send_all();
    (void)warm.run_until_answers(round * 40, 10);
  }
  warm.close();
  std::int64_t before = 0, most = 0;  // peaks of both times
  for (int i = 0; i < 10; ++i) {
    pause(0.1);
    before = std::max(before, stage.balancer().usage().private_kib);
  }
  stage.fault_begins();
  for (const auto* const how : {"misbehave=huge-head\n", "misbehave=endless-head\n"}) {
    stage.node(0).control(how);
    for (int i = 0; i < 10; ++i) {
      pause(0.2);
      most = std::max(most, stage.balancer().usage().private_kib);
    }
  }
  stage.node(0).control("misbehave=none\n");
  stage.fault_ends();
  stage.settle(4);
  stage.expect(stage.errors(false, "502") + stage.errors(true, "502") >= 1, "no 502 was seen");
  stage.note("memory +" + std::to_string(most - before) + " KiB");
  stage.expect(most - before <= 1024, "memory grew by " + std::to_string(most - before) + " KiB");
  stage.expect_recovery(6);
  return stage.finish();
}

constexpr std::array kFaults{
    Fault{"F1", "a node is killed while idle", killed_idle},
    Fault{"F2", "a node is killed in the middle of an answer", killed_in_answer},
    Fault{"F3", "a node's port is closed", refused},
    Fault{"F4", "a node resets in the middle of a request's body", reset_in_body},
    Fault{"F5", "a node half-closes before its answer", half_closed},
    Fault{"F19", "all nodes are down, then up", all_down},
    Fault{"F20", "a node is frozen for 5 s", frozen},
    Fault{"F21", "a node sends surplus bytes", surplus_bytes},
    Fault{"F22", "a node's answers are malformed", malformed},
    Fault{"F23", "answer heads of 1 MiB and without end", endless_heads}};

}  // namespace

std::span<const Fault> node_faults() { return kFaults; }

}  // namespace steelyard::rigs
