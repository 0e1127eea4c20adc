// What panic changes: nodes that are out carry traffic, and come back by it.
#include <gtest/gtest.h>

#include "test/health/rig.h"

namespace steelyard::health {
namespace {

using model::Eligibility;

TEST(Gate, InPanicASecondOfAnswersWithoutAFailureBringsItBackInFull) {
  Rig rig(Options{});
  rig.requests("r");
  rig.panic = true;
  rig.requests("++");
  rig.now += 900ms;
  rig.requests("++-+");
  rig.now += 100ms;
  rig.requests("+++");
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut) << "a failure starts the second anew";
  rig.now += 999ms;
  rig.requests("+");
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut);
  rig.now += 1ms;
  rig.requests("+");
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kUsable);
  EXPECT_TRUE(rig.gate.healthy());
  EXPECT_DOUBLE_EQ(rig.gate.ramp(), 1) << "it had its share already";
  EXPECT_EQ(rig.gate.reason(), "in service: answered 1 s without a failure in panic");
}

TEST(Gate, InPanicFewAnswersOrFailedChecksDoNotBringItBack) {
  Rig few(Options{});
  few.requests("r");
  few.panic = true;
  few.requests("+");
  few.now += 5s;
  few.requests("+");
  EXPECT_EQ(few.gate.eligibility(), Eligibility::kOut) << "two answers are not three";
  few.panic = false;
  few.sample();
  few.panic = true;
  few.requests("++");
  EXPECT_EQ(few.gate.eligibility(), Eligibility::kOut) << "the panic before does not count";

  Rig checked(active_options());
  checked.requests("r");
  checked.panic = true;
  checked.requests("++");
  checked.now += 2s;
  checked.requests("++");
  EXPECT_EQ(checked.gate.eligibility(), Eligibility::kOut) << "no check has passed";
  checked.check(CheckOutcome::kPass);
  checked.check(CheckOutcome::kPass);
  checked.requests("+");
  EXPECT_EQ(checked.gate.eligibility(), Eligibility::kUsable);
}

TEST(Gate, InPanicThereIsNoTrialAfterTheCooldown) {
  Rig rig(Options{});
  rig.requests("-----");
  rig.panic = true;
  rig.pass(31s);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kOut);
  rig.panic = false;
  rig.pass(1ms);
  EXPECT_EQ(rig.gate.eligibility(), Eligibility::kTrial);
}

}  // namespace
}  // namespace steelyard::health
