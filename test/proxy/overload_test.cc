// Stages of overload: the arithmetic, then each stage's deed in a worker in simulated time.

#include "steelyard/proxy/overload.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <string>

#include "test/proxy/sim_rig.h"

namespace steelyard::proxy {
namespace {

using testing::answer_ok;
using testing::Conn;
using testing::SimClient;
using testing::SimNode;
using testing::SimRig;
using namespace std::chrono_literals;

constexpr std::string_view kGet = "GET /x HTTP/1.1\r\nHost: t\r\n\r\n";

TEST(OverloadStages, BeginAtTheirShareAndEndFivePointsBelow) {
  struct Row {
    std::size_t percent;
    Stage want;
  };
  constexpr std::array rows{
      Row{84, Stage::kCalm},   Row{85, Stage::kHurry},  Row{80, Stage::kHurry},
      Row{79, Stage::kCalm},   Row{92, Stage::kClose},  Row{87, Stage::kClose},
      Row{86, Stage::kHurry},  Row{95, Stage::kRefuse}, Row{90, Stage::kRefuse},
      Row{89, Stage::kClose},  Row{98, Stage::kShed},   Row{93, Stage::kShed},
      Row{92, Stage::kRefuse}, Row{200, Stage::kShed},  Row{0, Stage::kCalm},
  };
  constexpr std::size_t kBudget = 100'000;
  Overload overload;
  Stage before = Stage::kCalm;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.percent);
    const bool changed = overload.update(row.percent * (kBudget / 100 + 1), kBudget);
    EXPECT_EQ(overload.stage(), row.want);
    EXPECT_EQ(changed, row.want != before);
    before = row.want;
  }
}

TEST(OverloadStages, WithoutABudgetThereIsNone) {
  Overload overload;
  EXPECT_FALSE(overload.update(std::size_t{1} << 40, 0));
  EXPECT_EQ(overload.stage(), Stage::kCalm);
}

// A rig whose memory for traffic can be set so that what is used now is a part of it.
struct Fillable {
  void fill(std::uint64_t percent) {
    const auto used = rig.worker->metrics().memory.read();
    rig.setup.options.overload.memory = base::Bytes{used * 100 / percent};
    rig.publish_config();
    rig.run(3ms);
  }
  [[nodiscard]] Stage stage() const {
    return static_cast<Stage>(rig.worker->metrics().stage.read());
  }
  SimRig rig;
};

// A worker whose buffers are held by uploads that their node does not take; the budget is then set
// so that they are this share of it.
struct Flood : Fillable {
  Flood() {
    rig.add_node(answer_ok);
    rig.nodes[0].script = [](SimNode& node, Conn& conn) {
      const bool upload = conn.in.starts_with("POST");
      conn.reads = !upload;
      if (!upload) answer_ok(node, conn);
    };
    for (int i = 0; i < 20; ++i) {
      uploads.push_back(&rig.dial());
      uploads.back()->send("POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n" +
                           std::string(1'000'000, 'x'));
    }
    rig.run(100ms);
  }
  std::vector<SimClient*> uploads;
};

TEST(Overload, HurryShortensWhatClientsMayTake) {
  Flood flood;
  SimRig& rig = flood.rig;
  SimClient& idle = rig.dial();
  idle.send(kGet);
  ASSERT_TRUE(rig.until([&] { return idle.status() == 200; }));
  flood.fill(88);
  ASSERT_EQ(flood.stage(), Stage::kHurry);
  const auto from = rig.now();
  SimClient& slow = rig.dial();
  slow.send("GET / HT");
  ASSERT_TRUE(rig.until([&] { return slow.status() == 408; }));
  EXPECT_NEAR(base::seconds(rig.now() - from), 2.5, 0.1);
  ASSERT_TRUE(rig.until([&] { return idle.closed(); }));
  EXPECT_NEAR(base::seconds(rig.now() - from), 75.0 / 4, 0.2);
}

TEST(Overload, CloseEndsKeepAlive) {
  Flood flood;
  SimRig& rig = flood.rig;
  SimClient& client = rig.dial();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return client.status() == 200; }));
  EXPECT_EQ(client.in.find("Connection: close"), std::string::npos);
  flood.fill(93);
  ASSERT_EQ(flood.stage(), Stage::kClose);
  client.in.clear();
  client.send(kGet);
  ASSERT_TRUE(rig.until([&] { return client.closed(); }));
  EXPECT_EQ(client.status(), 200);
  EXPECT_NE(client.in.find("Connection: close"), std::string::npos);
}

TEST(Overload, RefuseAnswersWithWhenToComeBackAndWhatIsUnderWayGoesOn) {
  Flood flood;
  SimRig& rig = flood.rig;
  flood.fill(96);
  ASSERT_EQ(flood.stage(), Stage::kRefuse);
  const auto attempts = rig.cells(0).attempts.read();
  for (const std::string_view request :
       {kGet, std::string_view("HEAD / HTTP/1.1\r\nHost: t\r\n\r\n")}) {
    SimClient& client = rig.dial();
    client.send(request);
    ASSERT_TRUE(rig.until([&] { return client.closed(); }));
    EXPECT_EQ(client.status(), 503);
    EXPECT_NE(client.in.find("Retry-After: 1\r\n"), std::string::npos);
    EXPECT_NE(client.in.find("Connection: close"), std::string::npos);
    EXPECT_EQ(client.body().empty(), request != kGet);
    EXPECT_FALSE(client.peer->was_reset());
  }
  EXPECT_EQ(rig.worker->metrics().overload_refused.read(), 2U);
  EXPECT_EQ(rig.cells(0).attempts.read(), attempts);
  EXPECT_EQ(rig.worker->exchanges(), 20U);
}

// Clients that send heads without an end: 60 fields of 1,000 bytes each.
struct HeadFlood : Fillable {
  HeadFlood() {
    rig.add_node(answer_ok);
    for (int i = 0; i < 20; ++i) add();
    rig.run(100ms);
  }
  void add() {
    std::string head = "GET / HTTP/1.1\r\nHost: t\r\n";
    for (int i = 0; i < 60; ++i) {
      head += "F" + std::to_string(i) + ": " + std::string(990, 'x') + "\r\n";
    }
    floods.push_back(&rig.dial());
    floods.back()->send(head.substr(0, 40'000));
    rig.run(1ms);
    floods.back()->send(head.substr(40'000));
  }
  std::vector<SimClient*> floods;
};

TEST(Overload, HeadsThatAreNotWholeCount) {
  HeadFlood flood;
  EXPECT_GE(flood.rig.worker->metrics().memory.read(), 20U * 60'000);
  for (SimClient* const one : flood.floods) one->peer->reset();
  flood.rig.run(10ms);
  EXPECT_LT(flood.rig.worker->metrics().memory.read(), 60'000U);
}

TEST(Overload, RefuseDoesNotCollectHeads) {
  HeadFlood flood;
  SimRig& rig = flood.rig;
  flood.fill(96);
  ASSERT_EQ(flood.stage(), Stage::kRefuse);
  const auto used = rig.worker->metrics().memory.read();
  SimClient& client = rig.dial();
  client.send("GET / HTTP/1.1\r\nHost: t\r\nX: " + std::string(4000, 'x'));
  ASSERT_TRUE(rig.until([&] { return client.closed(); }));
  EXPECT_EQ(client.status(), 503);
  EXPECT_NE(client.in.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_EQ(rig.worker->metrics().overload_refused.read(), 1U);
  for (int i = 0; i < 20; ++i) flood.add();
  rig.run(5ms);
  // The parts on their way; each head that was kept would be 60,000.
  EXPECT_LE(rig.worker->metrics().memory.read(), used + 60'000);
}

TEST(Overload, ShedBreaksOffHeadsThatAreNotWhole) {
  HeadFlood flood;
  flood.fill(99);
  ASSERT_GE(flood.stage(), Stage::kShed);
  ASSERT_TRUE(flood.rig.until([&] { return flood.stage() < Stage::kShed; }, 1s));
  EXPECT_GE(flood.rig.worker->metrics().overload_shed.read(), 1U);
  EXPECT_LE(flood.rig.worker->metrics().overload_shed.read(), 4U);
}

TEST(Overload, ShedBreaksOffTheLargestOneByOneAndRecovers) {
  Flood flood;
  SimRig& rig = flood.rig;
  flood.fill(99);
  ASSERT_GE(flood.stage(), Stage::kShed);
  ASSERT_TRUE(rig.until([&] { return flood.stage() < Stage::kShed; }, 2s));
  const auto gone = std::count_if(flood.uploads.begin(), flood.uploads.end(),
                                  [](const SimClient* c) { return c->peer->was_reset(); });
  EXPECT_GE(gone, 1);
  EXPECT_LE(gone, 4);
  EXPECT_EQ(rig.worker->metrics().overload_shed.read(), static_cast<std::uint64_t>(gone));
  for (SimClient* const upload : flood.uploads) upload->peer->reset();
  ASSERT_TRUE(rig.until([&] { return flood.stage() == Stage::kCalm; }, 2s));
  EXPECT_EQ(rig.stages.back(), Stage::kCalm);
  EXPECT_EQ(rig.worker->metrics().overload_entered.read(), 1U);
  EXPECT_EQ(rig.in_flight(), 0U);
}

}  // namespace
}  // namespace steelyard::proxy
