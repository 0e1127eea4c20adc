#include "steelyard/model/state.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

// Layout, little endian: "SLYS", version u32, payload size u64, payload, checksum u64 over all that
// stands before it. Payload: node count u32, then for each node its fields in order; optional
// fields behind a byte of flags.

namespace steelyard::model {
namespace {

constexpr std::string_view kMagic = "SLYS";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeader = 4 + 4 + 8;
constexpr std::size_t kChecksum = 8;

enum Flag : std::uint8_t { kOutFor = 1, kRampAge = 2, kOverridden = 4, kAllFlags = 7 };

// FNV-1a, 64 bits: each step is a bijection of the state, so that any one changed byte changes the
// sum.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  for (const std::byte b : bytes) sum = (sum ^ static_cast<std::uint8_t>(b)) * 0x100000001b3ULL;
  return sum;
}

class Writer {
 public:
  template <typename T>
  void number(T value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i, bits >>= 8)
      out_.push_back(static_cast<std::byte>(bits & 0xff));
  }
  void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
  void duration(base::Duration d) { number(d.count()); }
  void text(std::string_view s) {
    number(static_cast<std::uint32_t>(s.size()));
    raw(s);
  }
  void raw(std::string_view s) {
    for (const char c : s) out_.push_back(static_cast<std::byte>(c));
  }
  [[nodiscard]] std::vector<std::byte>& bytes() noexcept { return out_; }

 private:
  std::vector<std::byte> out_;
};

// Reads past the end give zeros and clear `ok`; the caller looks once, at the end.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  template <typename T>
  T number() {
    std::uint64_t bits = 0;
    if (!take(sizeof(T))) return T{};
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bits |= static_cast<std::uint64_t>(in_[at_ - sizeof(T) + i]) << (8 * i);
    }
    return static_cast<T>(bits);
  }
  double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
  base::Duration duration() { return base::Duration(number<base::Duration::rep>()); }
  std::string text() {
    const auto size = number<std::uint32_t>();
    if (!take(size)) return {};
    return {reinterpret_cast<const char*>(in_.data() + at_ - size), size};
  }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool done() const noexcept { return ok_ && at_ == in_.size(); }

 private:
  bool take(std::size_t n) {
    if (!ok_ || n > in_.size() - at_) {
      ok_ = false;
      return false;
    }
    at_ += n;
    return true;
  }
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

void write(Writer& out, const NodeState& node, base::TimePoint now) {
  const bool overridden =
      node.override_ && node.override_->until > now;  // an ended one is not kept
  out.text(node.id.upstream);
  out.text(node.id.name);
  out.text(node.address);
  out.real(node.control);
  out.number(node.ejections);
  out.number(static_cast<std::uint8_t>((node.out_for ? kOutFor : 0) |
                                       (node.ramp_age ? kRampAge : 0) |
                                       (overridden ? kOverridden : 0)));
  if (node.out_for) out.duration(*node.out_for);
  if (node.ramp_age) out.duration(*node.ramp_age);
  if (overridden) {
    out.real(node.override_->weight);
    out.text(node.override_->reason);
    out.text(node.override_->by);
    out.duration(now - node.override_->since);
    out.duration(node.override_->until - now);
  }
}

// Ages and rests of time: none is negative, none so long that adding it to a time would overflow.
bool sane(base::Duration d) noexcept {
  return d >= base::Duration::zero() && d < std::chrono::hours(24 * 365 * 100);
}

// Nothing when a field makes no sense: whoever wrote that is not us.
std::optional<NodeState> read(Reader& in, base::TimePoint now) {
  NodeState node;
  node.id.upstream = in.text();
  node.id.name = in.text();
  node.address = in.text();
  node.control = in.real();
  node.ejections = in.number<std::uint32_t>();
  const auto flags = in.number<std::uint8_t>();
  if ((flags & ~kAllFlags) != 0) return std::nullopt;
  if ((flags & kOutFor) != 0) node.out_for = in.duration();
  if ((flags & kRampAge) != 0) node.ramp_age = in.duration();
  if ((flags & kOverridden) != 0) {
    Override& o = node.override_.emplace();
    o.weight = in.real();
    o.reason = in.text();
    o.by = in.text();
    const base::Duration age = in.duration();
    const base::Duration left = in.duration();
    if (!std::isfinite(o.weight) || o.weight < 0 || !sane(age) || !sane(left)) return std::nullopt;
    o.since = now - age;
    o.until = now + left;
  }
  const bool good = in.ok() && std::isfinite(node.control) && node.control > 0 &&
                    sane(node.out_for.value_or(base::Duration{})) &&
                    sane(node.ramp_age.value_or(base::Duration{}));
  return good ? std::optional(std::move(node)) : std::nullopt;
}

base::Error damaged(std::string why) {
  return {base::Code::kInvalid, base::Origin::kUs, false, "saved state: " + std::move(why)};
}

}  // namespace

std::vector<std::byte> encode(const StateBlob& state, base::TimePoint now) {
  Writer payload;
  payload.number(static_cast<std::uint32_t>(state.nodes.size()));
  for (const NodeState& node : state.nodes) write(payload, node, now);

  Writer out;
  out.raw(kMagic);
  out.number(kVersion);
  out.number(static_cast<std::uint64_t>(payload.bytes().size()));
  out.bytes().insert(out.bytes().end(), payload.bytes().begin(), payload.bytes().end());
  out.number(checksum(out.bytes()));
  return std::move(out.bytes());
}

base::Result<StateBlob> decode(std::span<const std::byte> bytes, base::TimePoint now) {
  if (bytes.size() < kHeader + kChecksum) return damaged("too short");
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return damaged("is none of ours");
  Reader header(bytes.subspan(kMagic.size()));
  const auto version = header.number<std::uint32_t>();
  const auto size = header.number<std::uint64_t>();
  if (version != kVersion) return damaged("version " + std::to_string(version) + " is not known");
  if (size != bytes.size() - kHeader - kChecksum) return damaged("its length does not fit");
  const auto sum = Reader(bytes.last(kChecksum)).number<std::uint64_t>();
  if (sum != checksum(bytes.first(bytes.size() - kChecksum)))
    return damaged("its checksum does not fit");

  Reader in(bytes.subspan(kHeader, size));
  StateBlob state;
  const auto count = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    auto node = read(in, now);
    if (!node) return damaged("node " + std::to_string(i + 1) + " cannot be read");
    state.nodes.push_back(std::move(*node));
  }
  if (!in.done()) return damaged("holds more than its nodes");
  return state;
}

}  // namespace steelyard::model
