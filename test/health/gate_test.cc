#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "test/health/rig.h"

namespace steelyard::health {
namespace {

using namespace std::chrono_literals;
using model::Change;
using model::CheckOutcome;
using model::Eligibility;

TEST(Gate, ChecksFlipItOnlyAfterARunOfEqualResults) {
  struct Row {
    std::string_view name, checks;  // + pass, - fail, t time-out, n not ready, r refused
    Eligibility want;
  };
  constexpr std::array rows{
      Row{"new nodes are usable", "", Eligibility::kUsable},
      Row{"two failures are not enough", "--", Eligibility::kUsable},
      Row{"three failures are the fall", "---", Eligibility::kOut},
      Row{"time-outs are failures", "t-t", Eligibility::kOut},
      Row{"a pass breaks the run", "--+--", Eligibility::kUsable},
      Row{"not ready counts neither way", "--n-", Eligibility::kOut},
      Row{"not ready is no failure", "nnnnnnnn", Eligibility::kUsable},
      Row{"refused is the whole fall", "r", Eligibility::kOut},
      Row{"refused after passes too", "++++r", Eligibility::kOut},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(active_options());
    for (const char c : row.checks) {
      rig.check(c == '+'   ? CheckOutcome::kPass
                : c == 'n' ? CheckOutcome::kNotReady
                : c == 'r' ? CheckOutcome::kRefused
                : c == 't' ? CheckOutcome::kTimeout
                           : CheckOutcome::kFail);
    }
    EXPECT_EQ(rig.gate.eligibility(), row.want);
  }
}

TEST(Gate, ChecksThatAreNotConfiguredSayNothing) {
  Rig rig(Options{});
  for (int i = 0; i < 10; ++i) rig.check(CheckOutcome::kRefused);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kUsable);
}

TEST(Gate, ComesBackFromFailedChecksAfterCooldownAndRisePassesByARamp) {
  Rig rig(active_options());
  for (int i = 0; i < 3; ++i) rig.check(CheckOutcome::kFail, "HTTP 500");
  EXPECT_EQ(rig.gate.reason(), "out for 30 s: 3 checks failed in a row (fall 3), last: HTTP 500");
  rig.now += 10s;
  rig.check(CheckOutcome::kPass);
  rig.check(CheckOutcome::kPass);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut) << "the cooldown is not over";
  rig.check(CheckOutcome::kFail);
  rig.pass(20s);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut) << "the run of passes was broken";
  EXPECT_NE(rig.gate.reason().find("waits for 2 checks passed in a row"), std::string::npos);
  rig.check(CheckOutcome::kPass);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut) << "one pass is not the rise";
  rig.check(CheckOutcome::kPass);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kUsable);
  EXPECT_DOUBLE_EQ(rig.gate.ramp(), 0.1);
  const auto transitions = rig.gate.take();
  ASSERT_EQ(transitions.size(), 2U);
  EXPECT_EQ(transitions[0].change, Change::kOut);
  EXPECT_EQ(transitions[1].change, Change::kRamp);
}

TEST(Gate, AnUncheckedNodeMayStartOut) {
  Options options = active_options();
  options.active->initial = Initial::kOut;
  Rig boot(options);
  boot.check(CheckOutcome::kNotReady);
  EXPECT_EQ(boot.gate.eligibility(), Eligibility::kOut);
  boot.check(CheckOutcome::kPass);
  EXPECT_EQ(boot.gate.eligibility(), Eligibility::kUsable) << "its first pass is enough";
  EXPECT_EQ(boot.gate.ramp(), 1) << "nobody ramps when all are new";
  Rig joining(options, Start::kJoining);
  joining.check(CheckOutcome::kPass);
  EXPECT_DOUBLE_EQ(joining.gate.ramp(), 0.1);
}

TEST(Gate, TrafficPutsItOutAfterARunOfFailures) {
  struct Row {
    std::string_view name;
    std::array<std::string_view, 4> ticks;
    Eligibility want;
  };
  constexpr std::array rows{
      Row{"four in a row are not enough", {"----"}, Eligibility::kUsable},
      Row{"five are", {"-----"}, Eligibility::kOut},
      Row{"five over several ticks", {"--", "", "--", "-"}, Eligibility::kOut},
      Row{"an answer breaks the run", {"----", "+", "----"}, Eligibility::kUsable},
      Row{"an answer inside a tick too", {"---+--", "--"}, Eligibility::kUsable},
      Row{"the run after it counts", {"---+-----"}, Eligibility::kOut},
      Row{"a refused connection at once", {"+++", "r"}, Eligibility::kOut},
      Row{"even among answers", {"+++r+++"}, Eligibility::kOut},
      Row{"one connect that times out is one failure", {"t"}, Eligibility::kUsable},
      Row{"two in a row are the end", {"t", "t"}, Eligibility::kOut},
      Row{"an answer between them breaks that run", {"t", "+", "t"}, Eligibility::kUsable},
      Row{"other failures between them do not", {"t", "-", "t"}, Eligibility::kOut},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Rig rig(Options{});
    for (const auto tick : row.ticks) rig.requests(tick);
    EXPECT_EQ(rig.gate.eligibility(), row.want);
  }
}

TEST(Gate, RunsOfSeveralWorkersAddUpOnlyWhileNobodyAnswers) {
  Rig rig(Options{});
  // Two workers, three failures each in one tick: no streak of five, but six in a row whatever the
  // order.
  rig.counters.failures = 6;
  rig.counters.failure_streak = 3;
  rig.sample();
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut);
  EXPECT_EQ(rig.gate.reason(), "out for 30 s: 6 failures in a row (limit 5)");
}

TEST(Gate, ZeroTurnsPassiveChecksOff) {
  Options options;
  options.passive.consecutive_failures = 0;
  Rig rig(options);
  rig.requests("--------------rrrrrttttt");
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kUsable);
}

TEST(Gate, StaysOutLongerEachTimeUpToTheCap) {
  Rig rig(Options{});
  constexpr std::array<int, 12> kWant{30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300};
  for (const int want : kWant) {
    rig.requests(rig.gate.eligibility() == Eligibility::kTrial ? "-" : "-----");
    ASSERT_EQ(rig.gate.eligibility(), Eligibility::kOut);
    rig.pass(std::chrono::seconds(want) - 1ms);
    EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut) << want;
    rig.pass(1ms);
    EXPECT_EQ(rig.gate.eligibility(), Eligibility::kTrial) << want;
  }
}

TEST(Gate, SaysHowOftenInWords) {
  Rig rig(Options{});
  rig.requests("-----");
  EXPECT_EQ(rig.gate.reason(), "out for 30 s: 5 failures in a row (limit 5)");
  rig.pass(30s);
  rig.requests("+++");
  rig.pass(60s);
  rig.requests("-----");
  EXPECT_EQ(rig.gate.reason(), "out for 60 s: 5 failures in a row (limit 5), second time");
}

TEST(Gate, ForgivesAnEjectionForEachCooldownMaxInFullService) {
  Rig rig(Options{});
  rig.requests("r");
  rig.pass(30s);
  rig.requests("r");
  rig.pass(60s);
  rig.requests("+++");
  EXPECT_EQ(rig.gate.memory(rig.now).ejections, 2U);
  rig.pass(60s);  // ramp done: full service from here
  rig.pass(299s);
  EXPECT_EQ(rig.gate.memory(rig.now).ejections, 2U);
  rig.pass(1s);
  EXPECT_EQ(rig.gate.memory(rig.now).ejections, 1U);
  rig.pass(300s);
  EXPECT_EQ(rig.gate.memory(rig.now).ejections, 0U);
}

TEST(Gate, ATrialTakesOneRequestAtATimeUntilItsAnswersAreIn) {
  Rig rig(Options{});
  rig.requests("-----");
  rig.pass(30s);
  ASSERT_EQ(rig.gate.eligibility(), Eligibility::kTrial);
  EXPECT_EQ(rig.gate.in_flight_limit(), 1U);
  EXPECT_FALSE(rig.gate.healthy());
  rig.requests("+");
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kTrial) << "one success restores nothing";
  rig.requests("+");
  rig.requests("+");
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kUsable);
  EXPECT_EQ(rig.gate.in_flight_limit(), 0U);
  EXPECT_DOUBLE_EQ(rig.gate.ramp(), 0.1) << "and never full traffic";
}

TEST(Gate, OneFailureOnTrialPutsItOutForLonger) {
  Rig rig(Options{});
  rig.requests("-----");
  rig.pass(30s);
  rig.requests("++");
  rig.requests("-");
  EXPECT_EQ(rig.gate.reason(), "out for 60 s: failed on trial, second time");
}

TEST(Gate, SaysThatConnectsTimedOut) {
  Rig rig(Options{});
  rig.requests("tt");
  EXPECT_EQ(rig.gate.reason(), "out for 30 s: 2 connects in a row timed out");
}

TEST(Gate, ATrialWaitsForTheRequestsFromBeforeButNotForEver) {
  Rig rig(Options{});
  rig.counters.in_flight = 7;
  rig.requests("-----");
  rig.pass(30s);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut);
  Rig stuck = rig;
  rig.counters.in_flight = 0;
  rig.counters.failures += 7;  // they end badly: no news
  rig.pass(1s);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kTrial);
  EXPECT_EQ(rig.gate.in_flight_limit(), 1U);
  stuck.pass(30s);
  EXPECT_EQ(stuck.gate.eligibility(), Eligibility::kTrial);
  EXPECT_EQ(stuck.gate.in_flight_limit(), 8U) << "one beside those that hang on";
}

TEST(Gate, OutByTrafficNeedsPassedChecksAndATrialWhereChecksAreConfigured) {
  Rig rig(active_options());
  rig.requests("r");
  rig.pass(30s);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut);
  rig.check(CheckOutcome::kPass);
  rig.check(CheckOutcome::kPass);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kTrial);
}

TEST(Gate, TheLastUsableNodeIsKeptButMarked) {
  Rig rig(Options{});
  rig.requests("-----", false);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kUsable);
  EXPECT_TRUE(rig.gate.suspect());
  EXPECT_FALSE(rig.gate.healthy());
  rig.requests("----", false);
  const auto transitions = rig.gate.take();
  ASSERT_EQ(transitions.size(), 1U) << "told once";
  EXPECT_EQ(transitions[0].change, Change::kSuppressed);
  EXPECT_EQ(transitions[0].reason,
            "kept in service, being the last usable node: 5 failures in a row (limit 5)");
  rig.requests("+", false);
  EXPECT_TRUE(rig.gate.healthy());
  EXPECT_EQ(rig.gate.take().size(), 1U);
}

TEST(Gate, FailedReportsAreFailedChecksUnlessTrafficAnswers) {
  const auto report = [](Rig& rig, model::ReportOutcome outcome) {
    rig.gate.report(rig.options, {model::NodeRef{0, 1}, rig.now, outcome, {}, "no answer in 3 s"});
  };
  Rig silent(Options{});
  report(silent, model::ReportOutcome::kTimeout);
  report(silent, model::ReportOutcome::kTimeout);
  EXPECT_EQ(silent.gate.eligibility(), Eligibility::kUsable);
  report(silent, model::ReportOutcome::kTimeout);
  EXPECT_EQ(silent.gate.reason(),
            "out for 30 s: 3 reports failed in a row (fall 3) and no traffic answered, last: no "
            "answer in 3 s");

  Rig refused(Options{});
  report(refused, model::ReportOutcome::kRefused);
  EXPECT_EQ(refused.gate.eligibility(), Eligibility::kOut);

  Rig busy(Options{});
  for (int i = 0; i < 10; ++i) {
    busy.requests("+");
    report(busy, model::ReportOutcome::kRefused);
  }
  EXPECT_EQ(busy.gate.eligibility(), Eligibility::kUsable);

  Rig unknown(Options{});
  for (int i = 0; i < 10; ++i) report(unknown, model::ReportOutcome::kNotFound);
  EXPECT_EQ(unknown.gate.eligibility(), Eligibility::kUsable) << "404 means unknown";
}

TEST(Gate, NobodyRampsWhenAllAreNew) {
  EXPECT_EQ(Rig(Options{}, Start::kWithAll).gate.ramp(), 1);
  EXPECT_DOUBLE_EQ(Rig(Options{}, Start::kJoining).gate.ramp(), 0.1);
}

TEST(Gate, ARecoveredNodesShareIntegratesToHalfOverTheWindow) {
  Rig rig(Options{}, Start::kJoining);
  double sum = 0;
  int ticks = 0;
  for (; rig.gate.ramping(); ++ticks) {
    sum += rig.gate.ramp();
    rig.pass(100ms);
  }
  EXPECT_EQ(ticks, 600);
  EXPECT_NEAR(sum / ticks, 0.5, 0.03);
  EXPECT_EQ(rig.gate.ramp(), 1);
  EXPECT_EQ(rig.gate.reason(), "in service: ramp done after 60 s");
}

TEST(Gate, ARampIsToldAtItsQuarters) {
  Rig rig(Options{}, Start::kJoining);
  while (rig.gate.ramping()) rig.pass(100ms);
  std::string told;
  for (const auto& t : rig.gate.take()) told += t.reason + '\n';
  EXPECT_EQ(told,
            "ramps from 10 % over 60 s: new\nramp at 25 % after 15 s\nramp at 50 % after 30 "
            "s\nramp at 75 % after 45 s\n"
            "in service: ramp done after 60 s\n");
}

TEST(Gate, WithoutSlowStartItComesBackAtOnce) {
  Options options;
  options.slow_start = 0s;
  Rig rig(options, Start::kJoining);
  EXPECT_EQ(rig.gate.ramp(), 1);
  EXPECT_FALSE(rig.gate.ramping());
}

TEST(Gate, AFailureDuringTheRampPutsItOutAgain) {
  Rig rig(Options{}, Start::kJoining);
  rig.pass(30s);
  rig.requests("r");
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut);
  EXPECT_FALSE(rig.gate.ramping());
  EXPECT_EQ(rig.gate.ramp(), 1) << "should panic bring it back, it has its weight";
}

TEST(Gate, MemoryBringsItBackAsItWas) {
  Rig out(Options{});
  out.requests("r");
  out.pass(10s);
  const Memory memory = out.gate.memory(out.now);
  EXPECT_EQ(memory.out_for, 20s);
  Gate again(out.options, Start::kWithAll, kStart);
  again.restore(out.options, memory, kStart);
  EXPECT_EQ(again.eligibility(), Eligibility::kOut);
  again.tick(out.options, kStart + 20s);
  EXPECT_EQ(again.eligibility(), Eligibility::kTrial);

  Rig ramp(Options{}, Start::kJoining);
  ramp.pass(30s);
  Gate goes_on(ramp.options, Start::kWithAll, kStart);
  goes_on.restore(ramp.options, ramp.gate.memory(ramp.now), kStart);
  EXPECT_DOUBLE_EQ(goes_on.ramp(), 0.5);
}

TEST(Gate, CannotBeOverflowedByEjections) {
  Rig rig(Options{});
  rig.gate.restore(rig.options, {.ejections = 0xfffffff0, .out_for = {}, .ramp_age = {}}, kStart);
  rig.requests("r");
  EXPECT_EQ(rig.gate.memory(kStart).out_for, 300s);
}

}  // namespace
}  // namespace steelyard::health
