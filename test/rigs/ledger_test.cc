// The ledger's client and node against each other, with the relay between them.

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "test/paths.h"
#include "test/rigs/lib/judge.h"
#include "test/rigs/lib/ledger_client.h"
#include "test/rigs/lib/ledger_node.h"
#include "test/rigs/lib/tcp_fault.h"

namespace steelyard::rigs {
namespace {

using namespace std::chrono_literals;

class Ledger : public ::testing::Test {
 protected:
  Ledger() : log_("/tmp/ledger-test-" + std::to_string(::getpid())) {
    std::filesystem::remove(log_);
  }
  ~Ledger() override { std::filesystem::remove(log_); }

  // `requests` of them through the relay under `plan`.
  History run(const std::string& plan, const std::string& misbehave = "", int requests = 100,
              Span deadline = 2s) {
    Loop loop;
    const LedgerNode node(loop, {.name = "n1",
                                 .log = log_,
                                 .cases = test::source_path("test/http/http_cases.jsonl"),
                                 .misbehave = misbehave});
    TcpFault relay(loop, {}, {"127.0.0.1", node.port()});
    relay.plan(plan_of(plan).value(), false);
    LedgerClient client(
        loop,
        {.to = {"127.0.0.1", relay.port()}, .rate = 1000, .connections = 20, .deadline = deadline});
    client.start();
    const auto poll = [&](auto&& self) -> void {
      if (client.totals().sent >= static_cast<std::uint64_t>(requests)) {
        return client.finish([&] { loop.stop(); });
      }
      loop.after(1ms, [&, self] { self(self); });
    };
    poll(poll);
    loop.run_until(Clock::now() + 20s);
    History out;
    out.asked = client.asked();
    EXPECT_TRUE(read_history(log_, out));
    EXPECT_GE(out.asked.size(), static_cast<std::size_t>(requests));
    return out;
  }

  static std::size_t outcomes(const History& history, Outcome outcome) {
    return static_cast<std::size_t>(
        std::count_if(history.asked.begin(), history.asked.end(),
                      [&](const Asked& one) { return one.outcome == outcome; }));
  }

  std::string log_;
};

TEST_F(Ledger, AgreesOverAPlainRelay) {
  const auto verdict = judge(run(""), {});
  EXPECT_TRUE(verdict.good()) << verdict.violations.front();
  EXPECT_EQ(verdict.outcomes.count("GET 200") + verdict.outcomes.count("POST 200"), 2U);
}

TEST_F(Ledger, AgreesHoweverTheBytesAreCutAndDelayed) {
  EXPECT_TRUE(judge(run("split=100,gap=0,delay=3,jitter=3", "", 50, 10s), {}).good());
}

TEST_F(Ledger, SeesAByteThatWasChanged) {
  const auto history = run("down.corrupt=400,up.stop=1000000", "", 50);
  EXPECT_GT(outcomes(history, Outcome::kGarbled) + judge(history, {}).count, 0U);
}

TEST_F(Ledger, TellsResetsFromEndsAndCutAnswers) {
  EXPECT_GT(outcomes(run("up.rst=60"), Outcome::kReset), 90U);
  EXPECT_GT(outcomes(run("closed"), Outcome::kReset), 90U);
  EXPECT_GT(outcomes(run("down.fin=50"), Outcome::kTruncated), 90U);
  EXPECT_GT(outcomes(run("", "close"), Outcome::kClosed), 90U);
}

TEST_F(Ledger, GivesUpAtTheDeadline) {
  EXPECT_GT(outcomes(run("hole", "", 50, 100ms), Outcome::kTimedOut), 45U);
  EXPECT_GT(outcomes(run("down.deaf", "", 50, 100ms), Outcome::kTimedOut), 45U);
  EXPECT_GT(outcomes(run("", "sleep", 50, 100ms), Outcome::kTimedOut), 45U);
  EXPECT_GT(outcomes(run("", "storm", 50, 100ms), Outcome::kTimedOut), 45U);
}

TEST_F(Ledger, SeesAnswersThatNobodyAskedFor) {
  const auto verdict = judge(run("", "surplus"), {});
  EXPECT_FALSE(verdict.good());
}

TEST(FaultPlan, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(plan_of("dealy=3").has_value());
  EXPECT_FALSE(plan_of("up.accept3").has_value());
  const auto plan = plan_of("up.delay=3,down.rst=7,accept=9");
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->up.delay_ms, 3);
  EXPECT_EQ(plan->down.delay_ms, 0);
  EXPECT_EQ(plan->down.rst, 7U);
  EXPECT_EQ(plan->accept_ms, 9);
}

}  // namespace
}  // namespace steelyard::rigs
