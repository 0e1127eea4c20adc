#include "steelyard/probe/prober.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "steelyard/wire/server.h"

#include "test/wire/net.h"
#include "test/wire/raw_peer.h"

namespace steelyard::probe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::testing::Backend;
using wire::testing::Net;

struct Samples final : SampleSink {
  std::vector<model::CheckSample> checks;
  std::vector<model::ReportSample> reports;
  std::function<void()> then;
  void on_check(const model::CheckSample& sample) noexcept override {
    checks.push_back(sample);
    if (then) then();
  }
  void on_report(const model::ReportSample& sample) noexcept override {
    reports.push_back(sample);
    if (then) then();
  }
  std::vector<base::TimePoint> times(std::uint32_t slot) const {
    std::vector<base::TimePoint> out;
    for (const auto& check : checks) {
      if (check.node.slot == slot) out.push_back(check.at - check.took);
    }
    return out;
  }
};

Target target(std::uint32_t slot, Kind kind, base::Address address,
              base::Duration interval = seconds(1)) {
  Target out;
  out.node = {slot, 1};
  out.kind = kind;
  out.address = address;
  out.path = kind == Kind::kScore ? "/health/score" : "/health";
  out.interval = interval;
  out.timeout = milliseconds(500);
  return out;
}

class ProberBoth : public ::testing::TestWithParam<Backend> {
 protected:
  Net net{GetParam()};
  Samples samples;
  base::Address at;
};

TEST_P(ProberBoth, AsksForHealthAndScoreWithTheNodesOwnHost) {
  std::set<std::string> hosts, paths;
  wire::Server node(net.reactor(), {}, [&](const wire::Request& request, wire::Reply reply) {
    hosts.insert(request.host);
    paths.insert(request.target);
    reply.send(wire::Response::json(200, R"({"score":42,"cpuUsagePct":30})"));
  });
  node.listen(net.listen(at));
  Prober prober(net.reactor(), samples);
  std::vector<Target> targets{target(1, Kind::kHttpCheck, at, milliseconds(50)),
                              target(2, Kind::kScore, at, milliseconds(50)),
                              target(3, Kind::kTcpCheck, at, milliseconds(50)),
                              target(4, Kind::kTcpCheck, net.nobody(), milliseconds(50))};
  targets[0].host = "shop.example";
  prober.set_targets(targets);
  EXPECT_EQ(prober.targets(), 4U);
  EXPECT_TRUE(net.run([&] { return samples.checks.size() >= 12 && samples.reports.size() >= 3; }));
  EXPECT_EQ(hosts, (std::set<std::string>{"shop.example", at.to_text()}));
  EXPECT_EQ(paths, (std::set<std::string>{"/health", "/health/score"}));
  for (const auto& check : samples.checks) {
    EXPECT_EQ(check.outcome,
              check.node.slot == 4 ? model::CheckOutcome::kRefused : model::CheckOutcome::kPass)
        << check.detail;
  }
  for (const auto& report : samples.reports) {
    EXPECT_EQ(report.outcome, model::ReportOutcome::kOk);
    EXPECT_EQ(report.report.score, 42.0);
  }
}

TEST_P(ProberBoth, FollowsNoRedirectAndReadsNoFlood) {
  wire::Server node(net.reactor(), {}, [&](const wire::Request& request, wire::Reply reply) {
    EXPECT_NE(request.target, "/elsewhere");
    if (request.target == "/health/score") {
      reply.send(wire::Response::json(200, std::string(70000, ' ') + R"({"score":42})"));
    } else {
      reply.send({302, {{"Location", "/elsewhere"}}, ""});
    }
  });
  node.listen(net.listen(at));
  Prober prober(net.reactor(), samples);
  Target strict = target(1, Kind::kHttpCheck, at, milliseconds(50));
  strict.status_to = 299;
  prober.set_targets({strict, target(2, Kind::kScore, at, milliseconds(50))});
  EXPECT_TRUE(net.run([&] { return !samples.checks.empty() && !samples.reports.empty(); }));
  EXPECT_EQ(samples.checks[0].outcome, model::CheckOutcome::kFail);
  EXPECT_EQ(samples.checks[0].detail, "HTTP 302");
  EXPECT_EQ(samples.reports[0].outcome, model::ReportOutcome::kBad);
}

INSTANTIATE_TEST_SUITE_P(Both, ProberBoth, ::testing::Values(Backend::kEpoll, Backend::kSim),
                         wire::testing::name_of);

class ProberTest : public ::testing::Test {  // virtual time
 protected:
  ProberTest() { net.sim()->blackhole(black); }
  void serve(std::uint32_t cap = 64) {
    node =
        std::make_unique<wire::Server>(net.reactor(), wire::ServerOptions{.max_connections = cap},
                                       [this](const wire::Request&, wire::Reply reply) {
                                         ++served;
                                         reply.send({200, {}, ""});
                                       });
    node->listen(net.listen(at));
  }
  Net net{Backend::kSim};
  Samples samples;
  base::Address at;
  const base::Address black = base::Address::v4({10, 0, 0, 1}, 80);
  std::unique_ptr<wire::Server> node;
  int served = 0;
};

TEST_F(ProberTest, SpreadsTheFirstQuestionsAndJittersTheOthersByATenth) {
  serve();
  Prober prober(net.reactor(), samples, {.seed = 7});
  const base::TimePoint start = net.reactor().now();
  std::vector<Target> targets;
  for (std::uint32_t i = 0; i < 100; ++i) targets.push_back(target(i, Kind::kHttpCheck, at));
  prober.set_targets(targets);
  net.run_for(seconds(12));
  std::array<int, 4> quarter{};
  std::set<std::int64_t> gaps;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const auto times = samples.times(i);
    ASSERT_GE(times.size(), 10U);
    const double first = base::seconds(times[0] - start);
    ASSERT_LE(first, 1.01);
    ++quarter[std::min<std::size_t>(3, static_cast<std::size_t>(first * 4))];
    for (std::size_t k = 1; k < times.size(); ++k) {
      const double gap = base::seconds(times[k] - times[k - 1]);
      EXPECT_GE(gap, 0.899);
      EXPECT_LE(gap, 1.101);
      gaps.insert((times[k] - times[k - 1]).count());
    }
  }
  for (const int n : quarter) EXPECT_GT(n, 10);
  EXPECT_GT(gaps.size(), 500U) << "jitter is drawn anew each time";
}

TEST_F(ProberTest, TimesOutASilentNodeAndAsksItAgain) {
  Prober prober(net.reactor(), samples);
  Target silent = target(1, Kind::kHttpCheck, black);
  silent.timeout = seconds(3);  // longer than the interval: questions must not overlap
  Target score = target(2, Kind::kScore, black);
  prober.set_targets({silent, score});
  net.run_for(seconds(14));
  EXPECT_GE(samples.checks.size(), 3U);
  EXPECT_LE(samples.checks.size(), 5U);
  for (const auto& check : samples.checks) {
    EXPECT_EQ(check.outcome, model::CheckOutcome::kTimeout);
    EXPECT_EQ(check.took, seconds(3));
  }
  ASSERT_GE(samples.reports.size(), 9U);
  EXPECT_EQ(samples.reports[0].outcome, model::ReportOutcome::kTimeout);
}

TEST_F(ProberTest, LeavesUnchangedTargetsAloneWhenTheListChanges) {
  serve();
  Prober prober(net.reactor(), samples, {.seed = 3});
  prober.set_targets({target(1, Kind::kHttpCheck, at), target(2, Kind::kHttpCheck, at)});
  for (int i = 0; i < 200; ++i) {  // a new list every 50 ms, always with other company
    net.run_for(milliseconds(50));
    Target other = target(2, Kind::kHttpCheck, at);
    other.path = "/v" + std::to_string(i);
    prober.set_targets({other, target(1, Kind::kHttpCheck, at)});
    EXPECT_EQ(prober.targets(), 2U);
  }
  const auto times = samples.times(1);
  EXPECT_GE(times.size(), 9U);
  for (std::size_t k = 1; k < times.size(); ++k)
    EXPECT_LE(base::seconds(times[k] - times[k - 1]), 1.101);
  prober.set_targets({});
  EXPECT_EQ(prober.targets(), 0U);
  EXPECT_EQ(prober.in_flight(), 0U);
  const std::size_t before = samples.checks.size();
  net.run_for(seconds(5));
  EXPECT_EQ(samples.checks.size(), before);
}

TEST_F(ProberTest, MakesNoSampleOfAQuestionWhoseTargetIsGone) {
  Prober prober(net.reactor(), samples);
  Target silent = target(1, Kind::kHttpCheck, black, milliseconds(100));
  silent.timeout = seconds(10);
  prober.set_targets({silent});
  net.run_for(seconds(1));
  EXPECT_EQ(prober.in_flight(), 1U);
  silent.timeout = seconds(20);
  prober.set_targets({silent});
  EXPECT_EQ(prober.in_flight(), 0U);
  net.run_for(seconds(15));
  EXPECT_TRUE(samples.checks.empty());
}

TEST_F(ProberTest, KeepsItsBudgetOfOpenQuestions) {
  Prober prober(net.reactor(), samples, {.seed = 1, .max_in_flight = 5});
  std::vector<Target> targets;
  for (std::uint32_t i = 0; i < 50; ++i) targets.push_back(target(i, Kind::kHttpCheck, black));
  prober.set_targets(targets);
  std::size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    net.run_for(milliseconds(100));
    most = std::max(most, prober.in_flight());
  }
  EXPECT_EQ(most, 5U);
  EXPECT_GE(samples.checks.size(), 90U) << "5 questions each half second";
  std::map<std::uint32_t, int> asked;
  for (const auto& check : samples.checks) ++asked[check.node.slot];
  EXPECT_EQ(asked.size(), 50U) << "nobody starves";
}

TEST_F(ProberTest, AsksSoonWhenToldAndNotTwiceAtOnce) {
  serve();
  Prober prober(net.reactor(), samples);
  prober.set_targets({target(1, Kind::kHttpCheck, at, seconds(100)),
                      target(2, Kind::kHttpCheck, at, seconds(100))});
  for (int i = 0; i < 1000; ++i) prober.ask_soon({1, 1});
  EXPECT_EQ(prober.in_flight(), 1U);
  net.run_for(seconds(1));
  EXPECT_EQ(samples.times(1).size(), 1U);
  EXPECT_LE(served, 2);
  prober.ask_soon({1, 2});  // another use of the slot
  EXPECT_EQ(prober.in_flight(), 0U);
}

TEST_F(ProberTest, LetsTheSinkChangeTheListFromInside) {
  serve();
  Prober prober(net.reactor(), samples);
  std::uint32_t next = 1;
  samples.then = [&] {
    prober.set_targets({target(++next, Kind::kHttpCheck, at, milliseconds(100))});
  };
  prober.set_targets({target(next, Kind::kHttpCheck, at, milliseconds(100))});
  EXPECT_TRUE(net.run([&] { return samples.checks.size() == 20; }));
  EXPECT_EQ(next, 21U);
}

TEST_F(ProberTest, AsksAThousandNodesEverySecond) {
  serve(100000);
  Prober prober(net.reactor(), samples, {.seed = 1, .max_in_flight = 256});
  std::vector<Target> targets;
  for (std::uint32_t i = 0; i < 1000; ++i) targets.push_back(target(i, Kind::kScore, at));
  prober.set_targets(targets);
  net.run_for(seconds(3));
  EXPECT_GE(samples.reports.size(), 2000U);
  EXPECT_LE(samples.reports.size(), 3400U);
}

}  // namespace
}  // namespace steelyard::probe
