// The drivers on a real reactor with real files and processes, against a stand-in for Nginx.
#include "steelyard/apply/driver.h"

#include <array>
#include <gtest/gtest.h>

#include "test/apply/rig.h"

namespace steelyard::apply {
namespace {

TEST(NginxDriver, AppliesVerifiesAndSaysSo) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(7, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles()) << rig.status().reason;
  const Status s = rig.status();
  EXPECT_EQ(s.applied_table, 7U);
  EXPECT_EQ(s.applies, 1U);
  EXPECT_EQ(s.reloads, 1U);
  EXPECT_TRUE(s.last_success);
  ASSERT_EQ(s.nodes.size(), 2U);
  EXPECT_NEAR(s.nodes[0].intended, 1.0 / 3, 1e-9);
  EXPECT_NEAR(s.nodes[0].verified.value_or(0), 1.0 / 3, 1e-9);
  EXPECT_NEAR(s.drift, 0, 1e-9);
  EXPECT_EQ(rig.stub.loaded(), slurp(rig.stub.file()));
  EXPECT_EQ(std::filesystem::status(rig.stub.file()).permissions(), std::filesystem::perms(0640));
  rig.drivers.want(table(8, {upstream("api", 50)}));
  rig.spend(milliseconds(500));
  EXPECT_EQ(rig.stub.reloads(), 1) << "nothing changed, nothing is loaded";
  EXPECT_EQ(rig.status().applied_table, 8U);
}

TEST(NginxDriver, EveryFailureOfTheCommandsLeavesTheOldFileByteForByte) {
  struct Row {
    std::string_view name, command, mode, reason;
    base::Duration test_timeout = seconds(20), verify_timeout = seconds(20);
  };
  const std::array rows{
      Row{"the test fails", "test", "fail", "[emerg] unknown directive"},
      Row{"the test hangs", "test", "hang", "was killed", milliseconds(500)},
      Row{"the test writes without end", "test", "flood", "was killed", milliseconds(500)},
      Row{"the reload fails", "reload", "fail", "no luck"},
      Row{"the reload hangs", "reload", "hang", "no effect", seconds(20), milliseconds(800)},
      Row{"the reload is ignored", "reload", "ignore", "no effect", seconds(20), milliseconds(800)},
  };
  for (const Row& row : rows) {
    Rig rig;
    rig.configure({"api"});
    rig.drivers.want(table(1, {upstream("api", 50)}));
    ASSERT_TRUE(rig.settles()) << row.name;
    const std::string before = slurp(rig.stub.file());
    rig.stub.mode(std::string(row.command), std::string(row.mode));
    auto impatient = rig.options();
    impatient.test_timeout = row.test_timeout;
    impatient.verify_timeout = row.verify_timeout;
    ASSERT_TRUE(rig.drivers.configure({{"api", {impatient}}})) << row.name;
    rig.drivers.want(table(2, {upstream("api", 20)}));
    ASSERT_TRUE(rig.until([&] { return rig.status().failures > 0; })) << row.name;
    ASSERT_TRUE(rig.until([&] { return slurp(rig.stub.file()) == before; }, seconds(5)))
        << row.name;
    EXPECT_NE(rig.status().last_error.find(row.reason), std::string::npos)
        << row.name << ": " << rig.status().last_error;
    EXPECT_EQ(rig.stub.loaded(), before) << row.name;
    EXPECT_NE(rig.status().applied_table, 2U) << row.name;
    EXPECT_GT(rig.status().drift, 0.1) << row.name;
  }
}

TEST(NginxDriver, RunsWithTheRealStepsAgainAfterAFailure) {
  Rig rig;
  rig.configure({"api"});
  rig.stub.mode("test", "fail");
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.until([&] { return rig.status().failures == 1; }));
  EXPECT_FALSE(std::filesystem::exists(rig.stub.file())) << "there was no file before";
  rig.stub.mode("test", "ok");
  ASSERT_TRUE(rig.settles());
}

TEST(NginxDriver, TwoUpstreamsOfOneNginxShareOneReload) {
  Rig rig;
  rig.configure({"api", "web"});
  rig.drivers.want(table(1, {upstream("api", 50), upstream("web", 50)}));
  ASSERT_TRUE(rig.settles("api"));
  ASSERT_TRUE(rig.settles("web"));
  EXPECT_EQ(rig.stub.reloads(), 1);
}

TEST(NginxDriver, RefusesConfigurationsThatCannotWork) {
  Rig rig;
  const auto o = rig.options();
  auto other = rig.options("web");
  other.gap = seconds(9);
  EXPECT_FALSE(rig.drivers.configure({{"api", {o}}, {"api", {rig.options("web")}}}));
  EXPECT_FALSE(rig.drivers.configure({{"api", {o}}, {"web", {o}}}));
  const auto differ = rig.drivers.configure({{"api", {o}}, {"web", {other}}});
  ASSERT_FALSE(differ);
  EXPECT_NE(differ.error().text.find("must agree on test, reload, gap"), std::string::npos);
  EXPECT_EQ(rig.drivers.find("api"), nullptr) << "nothing was taken over";
}

TEST(NginxDriver, AReconfigurationKeepsWhatStaysAndRemovesWhatLeft) {
  Rig rig;
  rig.configure({"api", "web"});
  rig.drivers.want(table(1, {upstream("api", 50), upstream("web", 50)}));
  ASSERT_TRUE(rig.settles("api") && rig.settles("web"));
  rig.configure({"api"});
  EXPECT_EQ(rig.drivers.find("web"), nullptr);
  ASSERT_TRUE(rig.until([&] { return rig.drivers.statuses().size() == 1; }));
  EXPECT_FALSE(std::filesystem::exists(rig.stub.file("web")));
  EXPECT_EQ(rig.stub.loaded("web"), "");
  EXPECT_EQ(rig.status().state, State::kApplied);
  EXPECT_EQ(rig.stub.reloads(), 2);
  // Another gap: the lane is made anew, finds all settled and loads nothing.
  auto changed = rig.options();
  changed.gap = milliseconds(200);
  ASSERT_TRUE(rig.drivers.configure({{"api", {changed}}}));
  rig.drivers.want(table(2, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  EXPECT_EQ(rig.stub.reloads(), 2);
}

TEST(NginxDriver, ASymlinkAsTargetIsRefusedAndNotFollowed) {
  Rig rig;
  const std::string elsewhere = rig.stub.dir / "elsewhere";
  spit(elsewhere, "precious\n");
  std::filesystem::create_symlink(elsewhere, rig.stub.file());
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.until([&] { return rig.status().state == State::kRefused; }));
  EXPECT_NE(rig.status().reason.find("symbolic link"), std::string::npos) << rig.status().reason;
  EXPECT_EQ(slurp(elsewhere), "precious\n");
}

TEST(NginxDriver, AHostileNameNeverReachesTheFile) {
  Rig rig;
  rig.configure({"api"});
  rig.drivers.want(table(1, {upstream("api", 50)}));
  ASSERT_TRUE(rig.settles());
  const std::string before = slurp(rig.stub.file());
  auto hostile = upstream("api", 20);
  hostile.nodes[0].name = "a; } $(touch /tmp/owned)";
  rig.drivers.want(table(2, {hostile}));
  rig.spend(milliseconds(300));
  EXPECT_EQ(slurp(rig.stub.file()), before);
  EXPECT_EQ(rig.status().state, State::kFailed);
  EXPECT_NE(rig.status().reason.find("node \"a; } $(touch"), std::string::npos);
  EXPECT_EQ(rig.log.count("quarantined"), 1);
}

}  // namespace
}  // namespace steelyard::apply
