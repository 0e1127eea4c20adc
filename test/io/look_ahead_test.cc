#include "steelyard/io/look_ahead.h"

#include <gtest/gtest.h>
#include <vector>

namespace steelyard::io {
namespace {

struct Listening final : StreamEvents {
  void on_open(const PeerInfo& /*peer*/) noexcept override {}
  void on_bytes(Buf /*bytes*/) noexcept override {}
  void on_end() noexcept override {}
  void on_sent(std::size_t /*bytes*/) noexcept override {}
  void on_failed(Error /*error*/) noexcept override {}
  void on_soon(unsigned step) const noexcept override { steps.push_back(step); }

  mutable std::vector<unsigned> steps;
};

struct Slot {
  StreamEvents* events = nullptr;
};

struct Row {
  explicit Row(unsigned count) : listening(count), slots(count) {
    for (unsigned i = 0; i < count; ++i) slots[i].events = &listening[i];
  }
  void handle_all() {
    handle_looking_ahead(
        static_cast<unsigned>(slots.size()), [&](unsigned i) { return &slots[i]; },
        [&](unsigned i) {
          handled.push_back(i);
          steps_before.push_back(listening[i].steps);
        });
  }

  std::vector<Listening> listening;
  std::vector<Slot> slots;
  std::vector<unsigned> handled;
  std::vector<std::vector<unsigned>> steps_before;  // each one was handled
};

TEST(LookAhead, EachIsHandledOnceInOrderAfterAllItsSteps) {
  for (const unsigned count : {4U, 5U, 7U, 40U}) {
    Row row(count);
    row.handle_all();
    ASSERT_EQ(row.handled.size(), count);
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(row.handled[i], i);
      EXPECT_EQ(row.steps_before[i], (std::vector<unsigned>{3, 2, 1, 0})) << i << " of " << count;
      EXPECT_EQ(row.listening[i].steps.size(), StreamEvents::kSoonSteps);
    }
  }
}

TEST(LookAhead, AFewAreJustHandled) {
  Row row(3);
  row.handle_all();
  EXPECT_EQ(row.handled, (std::vector<unsigned>{0, 1, 2}));
  EXPECT_TRUE(row.listening[2].steps.empty());
}

TEST(LookAhead, AnItemMayHaveNoSlotOrNobodyWhoListens) {
  Row row(12);
  row.slots[5].events = nullptr;
  unsigned handled = 0;
  handle_looking_ahead(
      12, [&](unsigned i) { return i == 7 ? nullptr : &row.slots[i]; },
      [&](unsigned i) {
        ++handled;
        if (i == 2) row.slots[4].events = nullptr;  // gone while others are handled
      });
  EXPECT_EQ(handled, 12U);
  EXPECT_EQ(row.listening[6].steps.size(), StreamEvents::kSoonSteps);
  EXPECT_LT(row.listening[4].steps.size(), StreamEvents::kSoonSteps);
  EXPECT_TRUE(row.listening[5].steps.empty());
  EXPECT_TRUE(row.listening[7].steps.empty());
}

}  // namespace
}  // namespace steelyard::io
