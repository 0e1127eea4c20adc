#include "steelyard/proxy/window.h"

#include <gtest/gtest.h>
#include <vector>

namespace steelyard::proxy {
namespace {

using http::kInitialCredit;
using Taker = Window::Taker;

class Windows : public ::testing::Test {
 protected:
  // Passes all that is outstanding on; gives what is outstanding then.
  std::size_t turn(Window& window, std::size_t outstanding, Taker taker) {
    window.passed(outstanding);
    return window.give_back(taker, widened);
  }
  std::size_t widen(Window& window) {
    std::size_t credit = kInitialCredit;
    for (int i = 0; i < 5; ++i) credit = turn(window, credit, Taker::kQuick);
    return credit;
  }
  Window::Widened widened = 0;
};

TEST_F(Windows, DoubleWhileTheTakerKeepsUpAndStopAtTheWidest) {
  Window window;
  std::size_t credit = kInitialCredit;
  for (const std::size_t want : {2 * kInitialCredit, 4 * kInitialCredit, 4 * kInitialCredit}) {
    credit = turn(window, credit, Taker::kQuick);
    EXPECT_EQ(credit, want);
    EXPECT_EQ(widened, want - kInitialCredit);
  }
  EXPECT_EQ(credit, Window::kWidest);
}

TEST_F(Windows, ShrinkToWhereTheyBeganWhenBytesWait) {
  Window window;
  const std::size_t credit = widen(window);
  window.passed(kInitialCredit);  // less is owed than it must shrink by
  EXPECT_EQ(window.give_back(Taker::kSlow, widened), 0U);
  EXPECT_FALSE(window.owes());
  EXPECT_EQ(turn(window, credit - kInitialCredit, Taker::kSlow), kInitialCredit);
  EXPECT_EQ(turn(window, kInitialCredit, Taker::kSlow), kInitialCredit);
  EXPECT_EQ(widened, 0U);
}

TEST_F(Windows, StayAsTheyAreWhereNothingWasSentOrLittleCame) {
  Window window;
  EXPECT_EQ(turn(window, kInitialCredit, Taker::kUnknown), kInitialCredit);
  EXPECT_EQ(turn(window, 1000, Taker::kQuick), 1000U);
  EXPECT_EQ(turn(window, 1000, Taker::kSlow), 1000U);
}

TEST_F(Windows, AreNotWiderTogetherThanTheirShare) {
  std::vector<Window> windows(100);
  for (Window& window : windows) widen(window);
  EXPECT_LE(widened, Window::kMostWidened);
  EXPECT_GT(widened, Window::kMostWidened - Window::kWidest);
  Window late;
  EXPECT_EQ(widen(late), kInitialCredit);
  for (Window& window : windows) window.close(widened);
  EXPECT_EQ(widened, 0U);
  EXPECT_EQ(widen(late), Window::kWidest);
}

}  // namespace
}  // namespace steelyard::proxy
