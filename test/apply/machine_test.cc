#include "steelyard/apply/nginx/machine.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "test/apply/world.h"

namespace steelyard::apply::nginx {
namespace {

TEST(NginxMachine, AChangeGoesThroughAllStepsInOrder) {
  World w = settled();
  want(w, 20);
  EXPECT_EQ(w.state(), State::kPending);
  w.run(seconds(10));
  std::vector<Do> steps;
  for (const Do what : w.done) {
    if (what != Do::kLook && (what != Do::kSample || steps.empty())) steps.push_back(what);
  }
  std::erase(steps, Do::kSample);
  const std::vector<Do> expected{Do::kMark,   Do::kStage,  Do::kInstall, Do::kTest,
                                 Do::kReload, Do::kCommit, Do::kForget};
  EXPECT_EQ(steps, expected);
  EXPECT_EQ(w.state(), State::kApplied);
  EXPECT_EQ(w.files["api"].file, file_text("api", 20));
  EXPECT_EQ(w.files["api"].good, file_text("api", 20));
  EXPECT_EQ(w.files["api"].prev, std::nullopt);
  EXPECT_EQ(w.target().status.applied_table, 2U);
  EXPECT_EQ(w.target().status.applies, 2U);
  EXPECT_TRUE(w.happened("applied"));
}

TEST(NginxMachine, WithoutAChangeNothingIsWrittenOrLoaded) {
  World w = settled();
  want(w, 10, 9);
  w.run(seconds(60));
  EXPECT_EQ(w.count(Do::kStage) + w.count(Do::kTest) + w.count(Do::kReload), 0U);
  EXPECT_EQ(w.target().status.applied_table, 9U) << "the new Table wants what serves already";
  w.restart();
  w.machine().add("api");
  w.run(seconds(10));
  want(w, 10, 10);
  w.run(seconds(60));
  EXPECT_EQ(w.count(Do::kReload), 0U) << "not after a restart either";
  EXPECT_EQ(w.state(), State::kApplied);
}

TEST(NginxMachine, ChangesJoinAndReloadsKeepTheGap) {
  World w = settled();
  for (unsigned i = 1; i <= 100; ++i) {  // 100 changes in a minute
    want(w, i, i);
    w.run(milliseconds(600));
  }
  w.run(seconds(10));
  EXPECT_LE(w.reload_times.size(), 13U);
  EXPECT_GE(w.reload_times.size(), 11U);
  for (std::size_t i = 1; i < w.reload_times.size(); ++i) {
    EXPECT_GE(w.reload_times[i] - w.reload_times[i - 1], seconds(5)) << i;
  }
  EXPECT_EQ(w.loaded["api"], file_text("api", 100));
  EXPECT_EQ(w.target().status.applied_table, 100U);
}

TEST(NginxMachine, AWantDuringAChangeDoesNotDisturbIt) {
  World w = settled();
  want(w, 20, 2);
  while (w.count(Do::kReload) == 0) w.act();
  want(w, 30, 3);
  w.run(seconds(3));
  EXPECT_EQ(w.loaded["api"], file_text("api", 20));
  w.run(seconds(10));
  EXPECT_EQ(w.loaded["api"], file_text("api", 30));
  EXPECT_EQ(w.reload_times.size(), 2U);
}

TEST(NginxMachine, EveryStepThatFailsLeavesTheOldFileAndTheOldSplit) {
  struct Row {
    std::string_view name;
    std::function<void(World&)> spoil;
  };
  const std::array rows{
      Row{"mark", [](World& w) { w.failing = {Do::kMark}; }},
      Row{"stage", [](World& w) { w.failing = {Do::kStage}; }},
      Row{"install", [](World& w) { w.failing = {Do::kInstall}; }},
      Row{"test",
          [](World& w) {
            w.test_passes = [](const World& x) {
              return x.files.find("api")->second.file == file_text("api", 10);
            };
          }},
      Row{"test, whatever is there",
          [](World& w) { w.test_passes = [](const World&) { return false; }; }},
      Row{"reload exits with 1", [](World& w) { w.reload_exits_ok = false; }},
      Row{"reload has no effect", [](World& w) { w.reload_takes = false; }},
      Row{"reload hangs without effect",
          [](World& w) { w.reload_takes = false, w.reload_ends = false; }},
  };
  for (const Row& row : rows) {
    World w = settled();
    row.spoil(w);
    want(w, 20);
    w.run(milliseconds(16500));
    EXPECT_EQ(w.files["api"].file, file_text("api", 10)) << row.name;
    EXPECT_EQ(w.loaded["api"], file_text("api", 10)) << row.name;
    EXPECT_GE(w.target().status.failures, 1U) << row.name;
    EXPECT_FALSE(w.target().reason.empty()) << row.name;
    EXPECT_TRUE(w.state() == State::kFailed || w.state() == State::kAlarm ||
                w.state() == State::kApplying)
        << row.name << " " << to_text(w.state());
    // What spoilt it is gone: the change is applied by itself, at the latest after the rest.
    w.failing.clear();
    w.test_passes = [](const World&) { return true; };
    w.reload_exits_ok = w.reload_takes = w.reload_ends = true;
    w.machine().finished(Do::kReload, {}, w.now);
    w.run(std::chrono::minutes(6));
    EXPECT_EQ(w.loaded["api"], file_text("api", 20)) << row.name;
    EXPECT_EQ(w.state(), State::kApplied) << row.name;
  }
}

TEST(NginxMachine, RecordsThatCannotBeWrittenCostOneMoreCheckAtTheNextStartOnly) {
  for (const Do what : {Do::kCommit, Do::kForget}) {
    World w = settled();
    w.failing = {what};
    want(w, 20);
    w.run(seconds(20));
    EXPECT_EQ(w.state(), State::kApplied) << to_text(what);
    w.failing.clear();
    w.restart();
    w.machine().add("api");
    w.run(seconds(20));
    EXPECT_EQ(w.loaded["api"], file_text("api", 20)) << to_text(what);
    EXPECT_EQ(w.files["api"].good, file_text("api", 20)) << to_text(what);
    EXPECT_EQ(w.files["api"].prev, std::nullopt) << to_text(what);
  }
}

TEST(NginxMachine, AFailedUndoIsTriedAgain) {
  World w = settled();
  w.failing = {Do::kUndo};
  w.test_passes = [](const World& x) {
    return x.files.find("api")->second.file == file_text("api", 10);
  };
  want(w, 20);
  w.run(milliseconds(500));
  EXPECT_TRUE(w.happened("undo_failed"));
  w.failing.clear();
  w.run(seconds(5));
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
  EXPECT_EQ(w.loaded["api"], file_text("api", 10));
}

TEST(NginxMachine, FailuresBackOffAndTheThirdRaisesTheAlarm) {
  World w = settled();
  w.test_passes = [](const World& x) {
    return x.files.find("api")->second.file == file_text("api", 10);
  };
  want(w, 20);
  w.run(milliseconds(900));
  EXPECT_EQ(w.target().status.failures, 1U);
  w.run(seconds(1));
  EXPECT_EQ(w.target().status.failures, 2U) << "after a second";
  w.run(seconds(2));
  EXPECT_EQ(w.target().status.failures, 3U) << "after two more";
  EXPECT_EQ(w.state(), State::kAlarm);
  EXPECT_TRUE(w.happened("alarm"));
  w.run(seconds(290));
  EXPECT_EQ(w.target().status.failures, 3U);
  w.run(seconds(10));
  EXPECT_EQ(w.target().status.failures, 4U) << "one try every five minutes";
  w.machine().resume("api");
  w.test_passes = [](const World&) { return true; };
  w.run(seconds(5));
  EXPECT_EQ(w.state(), State::kApplied);
}

TEST(NginxMachine, SaysWhenTheTestFailsWithoutOurChangeToo) {
  World w = settled();
  w.test_passes = [](const World&) { return false; };
  want(w, 20);
  w.run(milliseconds(500));
  EXPECT_NE(w.target().reason.find("fails without this change too"), std::string::npos);
}

TEST(NginxMachine, AHungReloadIsNotStartedASecondTime) {
  World w = settled();
  w.reload_ends = false;
  w.reload_takes = false;
  want(w, 20);
  w.run(seconds(300));
  EXPECT_EQ(w.reload_times.size(), 1U);
  EXPECT_TRUE(w.happened("reload_hangs"));
  w.reload_ends = w.reload_takes = true;
  w.machine().finished(Do::kReload, {.ok = false}, w.now);
  w.run(seconds(300));
  EXPECT_EQ(w.state(), State::kApplied);
}

TEST(NginxMachine, AHungReloadThatWorkedCountsAsApplied) {
  World w = settled();
  w.reload_ends = false;
  want(w, 20);
  w.run(seconds(20));
  EXPECT_EQ(w.state(), State::kApplied);
  EXPECT_EQ(w.target().status.rollbacks, 0U);
}

TEST(NginxMachine, WithoutNginxTheFileIsWrittenAndTestedAndLoadedOnceItRuns) {
  World w;
  w.running = false;
  w.load_workers();
  w.machine().add("api");
  want(w, 20);
  w.run(seconds(30));
  EXPECT_EQ(w.files["api"].file, file_text("api", 20));
  EXPECT_EQ(w.state(), State::kWaiting);
  EXPECT_EQ(w.count(Do::kTest), 1U);
  want(w, 30);
  w.run(seconds(30));
  EXPECT_EQ(w.files["api"].file, file_text("api", 30));
  EXPECT_EQ(w.count(Do::kReload), 0U);
  EXPECT_EQ(w.target().status.applied_table, 0U);
  w.running = true;
  w.load_workers();
  w.run(seconds(10));
  EXPECT_EQ(w.count(Do::kReload), 1U);
  EXPECT_EQ(w.state(), State::kApplied);
}

TEST(NginxMachine, ARetiredTargetTakesItsFileAway) {
  World w = settled();
  w.machine().retire("api");
  w.run(seconds(20));
  EXPECT_EQ(w.files["api"].file, std::nullopt);
  EXPECT_EQ(w.files["api"].good, std::nullopt);
  EXPECT_EQ(w.files["api"].prev, std::nullopt);
  EXPECT_EQ(w.loaded.count("api"), 0U);
  EXPECT_TRUE(w.machine().targets().empty());
  EXPECT_EQ(w.done.back() == Do::kSample || w.count(Do::kRelease) == 1, true);
}

TEST(NginxMachine, AFileThatNginxStillNeedsStaysWhenItsUpstreamLeaves) {
  World w = settled();
  w.test_passes = [](const World& x) { return x.files.find("api")->second.file.has_value(); };
  w.machine().retire("api");
  w.run(seconds(20));
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
  EXPECT_EQ(w.state(), State::kAlarm);
}

TEST(NginxMachine, OldWorkersAreCounted) {
  World w = settled();
  w.workers.old = 3;
  w.run(seconds(2));
  EXPECT_EQ(w.machine().workers().old, 3U);
}

TEST(NginxMachine, AReloadBySomebodyElseIsNoCrash) {
  World w = settled();
  want(w, 20);
  while (w.count(Do::kReload) == 0) w.act();
  w.run(milliseconds(500));
  w.load_workers();
  w.run(seconds(10));
  EXPECT_EQ(w.state(), State::kApplied);
  EXPECT_EQ(w.target().status.rollbacks, 0U);
}

TEST(NginxMachine, WorkersOfAReloadByOthersDoNotPassForOurs) {
  World w = settled();
  want(w, 20);
  while (w.count(Do::kMark) == 0) w.act();
  w.load_workers();        // somebody reloads before our file is there …
  w.reload_takes = false;  // … and ours is lost
  w.run(seconds(9));
  EXPECT_EQ(w.target().status.failures, 1U);
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
}

TEST(NginxMachine, AFallbackStaysAtTheLastGoodContent) {
  World w = settled();
  w.machine().want("api", file_text("api", 99), 5, true);
  w.run(seconds(20));
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
  EXPECT_EQ(w.count(Do::kReload), 0U);
  World fresh;
  fresh.machine().add("api");
  fresh.machine().want("api", file_text("api", 99), 5, true);
  fresh.run(seconds(20));
  EXPECT_EQ(fresh.files["api"].file, file_text("api", 99)) << "nothing better is there";
}

TEST(NginxMachine, AForeignFileIsNeverTouchedAndTakenOverOnceItIsGone) {
  const std::string foreign = "upstream api { server 10.0.0.1:80; }\n";
  World w;
  w.files["api"].file = foreign;
  w.machine().add("api");
  want(w, 20);
  w.run(std::chrono::minutes(10));
  EXPECT_EQ(w.files["api"].file, foreign);
  EXPECT_EQ(w.state(), State::kRefused);
  EXPECT_EQ(w.count(Do::kMark) + w.count(Do::kStage) + w.count(Do::kReload), 0U);
  w.files["api"].file.reset();
  w.run(seconds(20));
  EXPECT_EQ(w.files["api"].file, file_text("api", 20));
  EXPECT_EQ(w.state(), State::kApplied);
}

TEST(NginxWorkers, ANewGenerationIsNewWorkersAndNoFormerOneLeft) {
  const Workers old{.master = 1, .active = {{10, 5}, {11, 5}}, .old = 0, .why = {}};
  struct Row {
    std::string_view name;
    Workers now;
    bool is_new;
  };
  const std::array rows{
      Row{"the same", old, false},
      Row{"one left", {.master = 1, .active = {{11, 5}, {12, 9}}, .old = 1, .why = {}}, false},
      Row{"none active", {.master = 1, .active = {}, .old = 2, .why = {}}, false},
      Row{"all new, old ones finish",
          {.master = 1, .active = {{12, 9}}, .old = 2, .why = {}},
          true},
      Row{"a reused pid is new", {.master = 1, .active = {{10, 9}}, .old = 0, .why = {}}, true},
      Row{"no master", {.master = 0, .active = {{12, 9}}, .old = 0, .why = {}}, false},
  };
  for (const Row& row : rows) EXPECT_EQ(new_generation(old, row.now), row.is_new) << row.name;
}

}  // namespace
}  // namespace steelyard::apply::nginx
