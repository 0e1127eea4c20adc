// Overload: how near a worker is to its byte budget, and what that asks for.
//
//   85 %  hurry   time-outs of clients are a quarter of what is configured
//   92 %  close   answers say `Connection: close`
//   95 %  refuse  requests are answered with 503, Retry-After and `Connection: close`, heads above
//                 2 KiB before they are whole
//   98 %  shed    the exchange that holds most is broken off, one every 10 ms
//
// A stage includes those before it. It begins at once, and ends 5 points below where it began. The
// budget is overload.memory, shared evenly among the workers; 0 is none. Cost: a few comparisons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace steelyard::proxy {

enum class Stage : std::uint8_t { kCalm, kHurry, kClose, kRefuse, kShed };
inline constexpr std::array<std::string_view, 5> kStageWords{"calm", "hurry", "close", "refuse",
                                                             "shed"};

class Overload {
 public:
  // True when the stage changed.
  bool update(std::size_t used, std::size_t budget) noexcept {
    constexpr std::array<std::size_t, 5> kFrom{0, 85, 92, 95, 98};  // percent
    constexpr std::size_t kBack = 5;
    const auto before = stage_;
    const std::size_t percent = budget == 0 ? 0 : used / (budget / 100 + 1);
    auto at = static_cast<std::size_t>(stage_);
    while (at + 1 < kFrom.size() && percent >= kFrom[at + 1]) ++at;
    while (at > 0 && percent < kFrom[at] - kBack) --at;
    stage_ = static_cast<Stage>(at);
    return stage_ != before;
  }
  [[nodiscard]] Stage stage() const noexcept { return stage_; }

 private:
  Stage stage_ = Stage::kCalm;
};

}  // namespace steelyard::proxy
