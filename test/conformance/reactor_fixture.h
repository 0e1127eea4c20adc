// What the reactor's conformance tests share: one rig of the back end under test.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string_view>
#include <utility>

#include "test/conformance/reactor_rig.h"

namespace steelyard::io::conformance {

class ReactorConformance : public testing::TestWithParam<Backend> {
 protected:
  // An adopted, opened stream and its hand-moved other end.
  std::unique_ptr<Raw> open(Recorder& events) {
    auto [near, far] = rig->pair();
    events.stream = rig->reactor().adopt(std::move(near), events);
    EXPECT_TRUE(rig->until([&] { return events.opened; }));
    return std::move(far);
  }
  // Sends all of it, turning the reactor while the other end has no room.
  void send_all(Raw& raw, std::string_view text) {
    ASSERT_TRUE(rig->until([&] {
      text.remove_prefix(raw.send(text));
      return text.empty();
    }));
  }

  std::unique_ptr<Rig> rig = GetParam().make();
};

}  // namespace steelyard::io::conformance
