#include "steelyard/sense/gc_rate.h"

#include <algorithm>

namespace steelyard::sense {

namespace {
constexpr double kMinute = 60;
constexpr double kLeast = 10;  // seconds of history before a rate is not stretched further
constexpr base::Duration kSpacing = std::chrono::seconds(5);
}  // namespace

void GcRate::add(std::uint64_t count, base::TimePoint now) noexcept {
  if (size_ == 0) {
    marks_[0] = {now, 0};
    size_ = 1;
    last_count_ = count;
    return;
  }
  total_ += count >= last_count_ ? count - last_count_ : count;
  last_count_ = count;

  while (size_ > 1 && now - marks_[(first_ + 1) % kMarks].at >= std::chrono::seconds(60)) {
    first_ = (first_ + 1) % kMarks;
    --size_;
  }
  const Mark& oldest = marks_[first_];
  if (now <= oldest.at) return;
  const double elapsed = base::seconds(now - oldest.at);
  per_minute_ = static_cast<double>(total_ - oldest.total) * kMinute / std::max(elapsed, kLeast);

  const Mark& newest = marks_[(first_ + size_ - 1) % kMarks];
  if (now - newest.at < kSpacing) return;
  if (size_ == kMarks) {
    first_ = (first_ + 1) % kMarks;
    --size_;
  }
  marks_[(first_ + size_) % kMarks] = {now, total_};
  ++size_;
}

}  // namespace steelyard::sense
