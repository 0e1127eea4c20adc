// Trouble that others had when driving Nginx, as rules of the machine in virtual time.
#include <array>
#include <gtest/gtest.h>

#include "steelyard/apply/nginx/machine.h"

#include "test/apply/world.h"

namespace steelyard::apply::nginx {
namespace {

// Kill -9 between each pair of actions of a change, of its undoing after a failed test, and of its
// undoing after a failed verification.
TEST(Cases, DRV_01_AKillBetweenAnyTwoStepsLeavesAWholeFileAndTheNextStartRepairs) {
  struct Row {
    std::string_view name;
    std::function<void(World&)> spoil;
    unsigned expected;  // the weight that serves in the end, while spoilt
  };
  const std::array rows{
      Row{"good change", [](World&) {}, 0},
      Row{"bad file",
          [](World& w) {
            w.test_passes = [](const World& x) {
              return x.files.find("api")->second.file == file_text("api", 10);
            };
          },
          10},
      Row{"lost reload", [](World& w) { w.reload_takes = false; }, 10},
  };
  for (const Row& row : rows) {
    for (std::size_t kill = 0;; ++kill) {
      World w = settled();
      row.spoil(w);
      want(w, 20);
      std::size_t actions = 0;
      while (actions < kill && w.count(Do::kForget) == 0) {
        if (w.act()) {
          ++actions;
        } else {
          w.now = w.machine().wake();
        }
      }
      const bool over = actions < kill;
      const bool whole = w.files["api"].file == file_text("api", 10) ||
                         w.files["api"].file == file_text("api", 20);
      EXPECT_TRUE(whole) << row.name << " killed after " << kill;
      // The next start knows no want yet; it repairs from what it finds.
      w.restart();
      w.reload_takes = true;
      w.machine().add("api");
      w.run(seconds(60));
      const auto& f = w.files["api"];
      ASSERT_TRUE(f.file) << row.name << " killed after " << kill;
      EXPECT_EQ(f.file, f.good) << row.name << " killed after " << kill;
      EXPECT_EQ(f.prev, std::nullopt) << row.name << " killed after " << kill;
      EXPECT_EQ(w.loaded["api"], *f.file) << row.name << " killed after " << kill;
      if (row.name == "bad file") {
        EXPECT_EQ(*f.file, file_text("api", 10)) << "killed after " << kill;
      }
      EXPECT_FALSE(w.target().want && !w.target().settled);
      if (over) {
        EXPECT_GE(kill, 8U) << row.name;
        break;
      }
    }
  }
}

TEST(Cases, DRV_01_AKillDuringTheVeryFirstChangeIsRepairedToo) {
  for (std::size_t kill = 0; kill < 14; ++kill) {
    World w;
    w.machine().add("api");
    want(w, 20);
    for (std::size_t actions = 0; actions < kill;) {
      if (w.act()) {
        ++actions;
      } else {
        w.now = w.machine().wake();
      }
    }
    w.restart();
    w.machine().add("api");
    w.run(seconds(60));
    EXPECT_EQ(w.files["api"].prev, std::nullopt) << kill;
    EXPECT_EQ(w.loaded.count("api") != 0, w.files["api"].file.has_value()) << kill;
    EXPECT_EQ(w.files["api"].file, w.files["api"].good) << kill;
    want(w, 20);
    w.run(seconds(60));
    EXPECT_EQ(w.loaded["api"], file_text("api", 20)) << kill;
  }
}

TEST(Cases, DRV_02_AReloadWithoutEffectIsAFailureWithinTenSeconds) {
  World w = settled();
  w.reload_takes = false;
  want(w, 20);
  const auto from = w.now;
  while (w.target().status.failures == 0 && w.now - from < seconds(30)) {
    if (!w.act()) w.now = w.machine().wake();
  }
  EXPECT_LE(w.now - from, seconds(10));
  w.run(milliseconds(100));
  EXPECT_EQ(w.target().status.failures, 1U);
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
  EXPECT_NE(w.target().reason.find("no effect"), std::string::npos);
}

TEST(Cases, DRV_02_TenQuickChangesDuringASlowReloadJoinToTheLast) {
  World w = settled();
  w.reload_ends = false;
  want(w, 20, 2);
  while (w.count(Do::kReload) == 0) w.act();
  for (unsigned i = 0; i < 10; ++i) want(w, 30 + i, 10 + i);
  w.machine().finished(Do::kReload, {}, w.now);
  w.reload_ends = true;
  w.run(seconds(20));
  EXPECT_EQ(w.reload_times.size(), 2U);
  EXPECT_EQ(w.loaded["api"], file_text("api", 39));
  EXPECT_EQ(w.target().status.applied_table, 19U);
}

TEST(Cases, DRV_03_ABadUpstreamIsQuarantinedAndTheOthersApply) {
  World w;
  for (const std::string name : {"p", "q", "r"}) {
    w.machine().add(name);
    want(w, 10, 1, name);
  }
  w.run(seconds(20));
  EXPECT_EQ(w.reload_times.size(), 1U) << "three files, one reload";
  w.test_passes = [](const World& x) {
    return x.files.find("r")->second.file != file_text("r", 20);
  };
  for (const std::string name : {"p", "q", "r"}) want(w, 20, 2, name);
  w.run(seconds(20));
  EXPECT_EQ(w.loaded["p"], file_text("p", 20));
  EXPECT_EQ(w.loaded["q"], file_text("q", 20));
  EXPECT_EQ(w.loaded["r"], file_text("r", 10)) << "keeps its last version";
  EXPECT_EQ(w.state("p"), State::kApplied);
  EXPECT_EQ(w.state("r"), State::kAlarm);
  EXPECT_FALSE(w.target("r").reason.empty());
  want(w, 30, 3, "p");
  w.run(seconds(20));
  EXPECT_EQ(w.loaded["p"], file_text("p", 30));
  want(w, 30, 3, "r");
  w.run(std::chrono::minutes(6));
  EXPECT_EQ(w.loaded["r"], file_text("r", 30)) << "fixed, it joins";
}

TEST(Cases, DRV_03_ATargetThatCannotBeWrittenDoesNotHoldUpTheOthers) {
  World w;
  for (const std::string name : {"p", "q"}) {
    w.machine().add(name);
    want(w, 10, 1, name);
  }
  w.failing_for = {{Do::kStage, "q"}};
  w.run(seconds(20));
  EXPECT_EQ(w.loaded["p"], file_text("p", 10));
  EXPECT_EQ(w.loaded.count("q"), 0U);
  EXPECT_GE(w.target("q").status.failures, 1U);
}

TEST(Cases, DRV_09_MissingRightsAreSaidAndTriedAgainWithBackOff) {
  for (const Do what : {Do::kLock, Do::kCheck, Do::kLoad}) {
    World w;
    w.failing = {what};
    w.machine().add("api");
    want(w, 20);
    w.run(seconds(60));
    EXPECT_EQ(w.state(), State::kRefused) << to_text(what);
    EXPECT_EQ(w.target().reason, "no luck") << to_text(what);
    EXPECT_GE(w.count(what), 5U) << to_text(what);
    EXPECT_LE(w.count(what), 8U) << to_text(what);
    w.failing.clear();
    w.run(seconds(70));
    EXPECT_EQ(w.state(), State::kApplied) << to_text(what);
  }
}

TEST(Cases, DRV_15_AnEditByHandIsSeenWithinTwoSecondsAndUndoneOnce) {
  World w = settled();
  w.run(seconds(10));
  const std::string edited = file_text("api", 10) + "# by hand\n";
  w.files["api"].file = edited;
  w.run(seconds(2));
  EXPECT_TRUE(w.happened("edited"));
  w.run(seconds(20));
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
  EXPECT_EQ(w.loaded["api"], file_text("api", 10));
  EXPECT_EQ(w.target().status.edits, 1U);
  EXPECT_EQ(w.reload_times.size(), 1U);
}

TEST(Cases, DRV_15_AnEditSeenHalfWrittenIsOneEdit) {
  for (const auto* half : {"", "upstream api {\n"}) {  // truncated; a head that is not ours
    World w = settled();
    w.run(seconds(10));
    w.files["api"].file = half;
    w.done.clear();
    while (w.count(Do::kLook) == 0) {
      if (!w.act()) w.now = w.machine().wake();
    }
    w.files["api"].file = file_text("api", 10) + "# by hand\n";
    w.run(seconds(20));
    EXPECT_EQ(w.files["api"].file, file_text("api", 10));
    EXPECT_EQ(w.target().status.edits, 1U) << half;
    EXPECT_FALSE(w.happened("refused")) << half;
    EXPECT_EQ(w.state(), State::kApplied);
  }
}

TEST(Cases, DRV_15_AnEditRightBeforeTheInstallIsNotOverwrittenUnseen) {
  World w = settled();
  w.edit_before_install = true;
  want(w, 20);
  w.run(seconds(20));
  EXPECT_EQ(w.target().status.edits, 1U);
  EXPECT_TRUE(w.happened("edited"));
  EXPECT_EQ(w.loaded["api"], file_text("api", 20));
}

TEST(Cases, DRV_15_AnEditWhileWorkersAreWatchedIsSeen) {
  World w = settled(10, {.watch = seconds(8)});
  want(w, 20);
  while (w.count(Do::kReload) == 0) w.act();
  w.run(seconds(1));
  w.files["api"].file = file_text("api", 20) + "# by hand\n";
  w.run(seconds(2));
  EXPECT_EQ(w.target().status.edits, 1U);
  w.run(seconds(30));
  EXPECT_EQ(w.files["api"].file, file_text("api", 20));
  EXPECT_EQ(w.state(), State::kApplied);
}

TEST(Cases, DRV_15_AnEditWhileWeWereAwayIsUndoneToo) {
  World w = settled();
  w.files["api"].file = file_text("api", 10) + "# by hand\n";
  w.restart();
  w.machine().add("api");
  w.run(seconds(20));
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
  EXPECT_EQ(w.target().status.edits, 1U);
}

TEST(Cases, DRV_15_ASecondWriterThatGoesOnStopsUs) {
  World w = settled(10, {.gap = milliseconds(500), .watch = milliseconds(100)});
  for (int i = 0; i < 20; ++i) {
    w.files["api"].file = file_text("api", 10) + "# round " + std::to_string(i) + "\n";
    w.run(seconds(3));
  }
  EXPECT_EQ(w.state(), State::kStopped);
  EXPECT_LE(w.reload_times.size(), 3U);
  EXPECT_TRUE(w.happened("stopped"));
  want(w, 20);
  w.run(seconds(60));
  EXPECT_NE(w.files["api"].file, file_text("api", 20));
  w.machine().resume("api");
  w.run(seconds(20));
  EXPECT_EQ(w.loaded["api"], file_text("api", 20));
}

TEST(Cases, DRV_15_OnEditStopLeavesTheEdit) {
  World w = settled(10, {.reassert = false});
  const std::string edited = file_text("api", 10) + "# by hand\n";
  w.files["api"].file = edited;
  w.run(seconds(60));
  EXPECT_EQ(w.files["api"].file, edited);
  EXPECT_EQ(w.state(), State::kStopped);
  EXPECT_EQ(w.reload_times.size(), 0U);
}

TEST(Cases, DRV_15_AFileReplacedByAForeignOneIsLeftToItsNewOwner) {
  World w = settled();
  w.files["api"].file = "upstream api { server 10.0.0.9:80; }\n";
  want(w, 20);
  w.run(seconds(60));
  EXPECT_EQ(w.state(), State::kRefused);
  EXPECT_EQ(w.files["api"].file, "upstream api { server 10.0.0.9:80; }\n");
}

TEST(Cases, DRV_20_CrashingWorkersRollBackAndStop) {
  World w = settled();
  w.crash_loop = true;
  want(w, 20);
  w.run(seconds(5));
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
  EXPECT_EQ(w.state(), State::kStopped);
  EXPECT_EQ(w.target().status.rollbacks, 1U);
  EXPECT_EQ(w.reload_times.size(), 2U) << "the change and the way back";
  EXPECT_EQ(w.loaded["api"], file_text("api", 10));
  w.crash_loop = false;
  want(w, 30);
  w.run(std::chrono::minutes(30));
  EXPECT_EQ(w.reload_times.size(), 2U) << "no loop of applies";
  w.machine().resume("api");
  w.run(seconds(20));
  EXPECT_EQ(w.loaded["api"], file_text("api", 30));
}

TEST(Cases, DRV_20_WorkersThatAreGoneForGoodRollBackToo) {
  World w = settled();
  want(w, 20);
  while (w.count(Do::kReload) == 0) w.act();
  w.run(milliseconds(200));
  w.workers.active.clear();
  w.run(seconds(5));
  EXPECT_EQ(w.files["api"].file, file_text("api", 10));
  EXPECT_EQ(w.state(), State::kStopped);
}

}  // namespace
}  // namespace steelyard::apply::nginx
