#include "steelyard/proxy/access_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "steelyard/http/chars.h"
#include "steelyard/http/list.h"
#include "steelyard/http/trace.h"
#include "steelyard/io/clock.h"

namespace steelyard::proxy {
namespace {

constexpr auto kPause = std::chrono::milliseconds(200);
constexpr std::size_t kPiece = std::size_t{256} << 10;  // bytes of one write
constexpr std::size_t kLine = std::size_t{16} << 10;    // bytes of a line; longer ones are cut
constexpr std::size_t kIpText = 46;
constexpr std::size_t kAddressText = kIpText + 8;  // with brackets, colon and port

std::string_view text_of(const base::Address& address, std::span<char> to) noexcept {
  if (!address.valid()) return {};
  const bool v6 = address.family() == base::Address::Family::kV6;
  std::size_t size = 0;
  if (v6) to[size++] = '[';
  size += address.write_ip(to.data() + size);
  if (v6) to[size++] = ']';
  to[size++] = ':';
  const auto end = std::to_chars(to.data() + size, to.data() + to.size(), address.port()).ptr;
  return {to.data(), static_cast<std::size_t>(end - to.data())};
}

struct Line {
  std::string_view name, value;
};

// The next field of a head: `name: value` CR LF.
bool next_field(std::string_view& head, Line& line) noexcept {
  const auto end = head.find("\r\n");
  const auto colon = head.substr(0, end).find(':');
  if (end == std::string_view::npos || colon == std::string_view::npos) return false;
  line.name = head.substr(0, colon);
  line.value = head.substr(colon + 1, end - colon - 1);
  line.value = http::trim_blanks(line.value);
  head.remove_prefix(end + 2);
  return true;
}

std::string_view protocol_of(http::Version version) noexcept {
  switch (version) {
    case http::Version::k10:
      return "HTTP/1.0";
    case http::Version::k11:
      return "HTTP/1.1";
    case http::Version::k2:
      return "HTTP/2.0";
  }
  return "";
}

using Values = std::array<std::optional<std::string_view>, http::AccessFormat::kMaxFields>;

// Of a request that was refused the line may be anything, and may have been cut. Without a method
// and the beginning of a target it is not shown: nobody could tell a secret in it.
bool read_line(std::string_view line, bool whole, http::AccessRecord& to) noexcept {
  const auto space = line.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == line.size()) return false;
  const auto method = line.substr(0, space);
  if (!std::all_of(method.begin(), method.end(),
                   [](char c) { return http::is_char(c, http::kToken); })) {
    return false;
  }
  to.method = method;
  auto rest = line.substr(space + 1);
  const auto last = rest.rfind(' ');
  if (last != std::string_view::npos && last > 0) {
    to.target = rest.substr(0, last);
    if (whole) to.protocol = rest.substr(last + 1);
  } else {
    to.target = rest;
  }
  return true;
}

// Method, target, host, ids of request and trace, and the fields that the format wants, from the
// head.
void read_head(std::string_view head, const http::AccessFormat& format, http::AccessRecord& to,
               Values& values) noexcept {
  const auto end = head.find("\r\n");
  if (!read_line(head.substr(0, end), end != std::string_view::npos, to)) return;
  head.remove_prefix(std::min(head.size(), end + 2));
  const auto wanted = format.request_fields();
  Line line;
  while (next_field(head, line)) {
    if (http::same_word(line.name, "host")) to.host = line.value;
    if (http::same_word(line.name, "x-request-id")) to.request_id = line.value;
    if (http::same_word(line.name, "traceparent")) {
      if (const auto trace = http::parse_traceparent(line.value)) to.trace_id = trace->trace_id;
    }
    for (std::size_t i = 0; i < wanted.size() && i < values.size(); ++i) {
      if (!values[i] && http::same_word(line.name, wanted[i])) values[i] = line.value;
    }
  }
}

// The fields of the answer that the format wants.
void read_answer_head(std::string_view head, const http::AccessFormat& format,
                      Values& values) noexcept {
  const auto end = head.find("\r\n");
  if (end == std::string_view::npos) return;
  head.remove_prefix(end + 2);
  const auto wanted = format.answer_fields();
  Line line;
  while (next_field(head, line)) {
    for (std::size_t i = 0; i < wanted.size() && i < values.size(); ++i) {
      if (!values[i] && http::same_word(line.name, wanted[i])) values[i] = line.value;
    }
  }
}

// Attempts before the last one, as texts.
class Earlier {
 public:
  explicit Earlier(const AccessFacts& facts) noexcept {
    for (std::size_t i = 0; i < facts.earlier_count; ++i) {
      const auto& tried = facts.earlier[i];
      address_end_ = put_comma(addresses_, address_end_);
      status_end_ = put_comma(statuses_, status_end_);
      const auto address = text_of(tried.node, std::span(addresses_).subspan(address_end_));
      address_end_ += address.empty() ? put_dash(addresses_, address_end_) : address.size();
      if (tried.status == 0) {
        status_end_ += put_dash(statuses_, status_end_);
      } else {
        char* const at = statuses_.data() + status_end_;
        status_end_ += static_cast<std::size_t>(
            std::to_chars(at, statuses_.data() + statuses_.size(), tried.status).ptr - at);
      }
    }
  }
  [[nodiscard]] std::string_view addresses() const noexcept {
    return {addresses_.data(), address_end_};
  }
  [[nodiscard]] std::string_view statuses() const noexcept {
    return {statuses_.data(), status_end_};
  }

 private:
  static std::size_t put_comma(std::span<char> to, std::size_t at) noexcept {
    if (at == 0) return 0;
    to[at] = ',';
    to[at + 1] = ' ';
    return at + 2;
  }
  static std::size_t put_dash(std::span<char> to, std::size_t at) noexcept {
    to[at] = '-';
    return 1;
  }
  std::array<char, 2 * (kAddressText + 2)> addresses_;
  std::array<char, 2 * (5 + 2)> statuses_;
  std::size_t address_end_ = 0, status_end_ = 0;
};

}  // namespace

std::size_t write_access_line(const AccessFacts& facts,
                              std::chrono::sys_time<std::chrono::milliseconds> at,
                              const http::AccessFormat& format, std::span<char> out) noexcept {
  std::array<char, kIpText> ip;
  std::array<char, kAddressText> listener, node;
  const Earlier earlier(facts);
  http::AccessRecord record;
  record.time = at;
  if (facts.client.valid()) record.client_ip = {ip.data(), facts.client.write_ip(ip.data())};
  record.client_port = facts.client.port();
  record.listener = text_of(facts.listener, listener);
  record.scheme = "http";
  record.status = facts.status;
  record.bytes_in = facts.bytes_in;
  record.bytes_out = facts.bytes_out;
  record.body_bytes_out = facts.body_bytes_out;
  record.duration = facts.ended - facts.began;
  record.earlier_addresses = earlier.addresses();
  record.earlier_statuses = earlier.statuses();
  record.upstream = facts.upstream;
  record.node = facts.node_name;
  record.node_address = text_of(facts.node, node);
  record.node_status = facts.node_status;
  record.connect_time = facts.connect_time;
  record.head_time = facts.head_time;
  record.answer_time = facts.answer_time;
  record.tries = facts.tries;
  record.pick_reason = facts.pick_reason;
  record.reason = facts.reason;
  record.detail = facts.detail;
  Values values;
  read_head(facts.head, format, record, values);
  if (!record.method.empty() && facts.version) record.protocol = protocol_of(*facts.version);
  record.request_fields = std::span(values).first(format.request_fields().size());
  Values answer_values;
  read_answer_head(facts.answer_head, format, answer_values);
  record.answer_fields = std::span(answer_values).first(format.answer_fields().size());
  return format.write(record, out);
}

void AccessRing::note(const AccessFacts& facts) noexcept {
  const std::size_t size = facts.packed_size();
  const auto room = ring_.reserve(size);
  if (room.empty()) {
    dropped_.add(1);
    return;
  }
  facts.pack(room);
  ring_.commit(size);
  noted_.add(1);
  since_ring_ += size;
  if (since_ring_ < ring_.capacity() / 2) return;
  since_ring_ = 0;
  bell_.ring();
}

AccessLog::AccessLog(std::uint32_t workers, std::size_t ring) {
  for (std::uint32_t i = 0; i < workers; ++i) {
    rings_.push_back(std::make_unique<AccessRing>(ring, bell_));
  }
}

AccessLog::~AccessLog() {
  stop_.store(true, std::memory_order_release);
  bell_.ring();
  thread_.reset();
  delete next_.exchange(nullptr);
}

base::Result<std::unique_ptr<AccessLog::Target>> AccessLog::make(const LogOptions& options) const {
  auto format = http::AccessFormat::compile(options.format);
  if (!format) return format.error();
  auto file = io::LogFile::open(options.file);
  if (!file) return file.error();
  return std::make_unique<Target>(Target{std::move(*file), std::move(*format)});
}

base::Result<void> AccessLog::configure(const LogOptions& options) {
  const bool same = options.file == options_.file && options.format == options_.format;
  if (!same && !options.file.empty()) {
    auto made = make(options);
    if (!made) return made.error();
    if (auto taken = hand_over(std::move(*made)); !taken) return taken;
  }
  options_ = options;
  return {};
}

base::Result<void> AccessLog::reopen() {
  if (options_.file.empty()) return {};
  auto made = make(options_);
  if (!made) return made.error();
  return hand_over(std::move(*made));
}

// One that the writer has not yet taken is dropped: it was never written to.
base::Result<void> AccessLog::hand_over(std::unique_ptr<Target> target) {
  if (!thread_) {
    auto started = io::Thread::start("access-log", [this] { run(); });
    if (!started) return started.error();
    thread_.emplace(std::move(*started));
  }
  delete next_.exchange(target.release(), std::memory_order_acq_rel);
  bell_.ring();
  return {};
}

std::uint64_t AccessLog::dropped() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& ring : rings_) sum += ring->dropped();
  return sum;
}

void AccessLog::run() {
  buffer_.resize(kPiece);
  for (;;) {
    const bool last = stop_.load(std::memory_order_acquire);
    if (target_ == nullptr) target_.reset(next_.exchange(nullptr, std::memory_order_acq_rel));
    // What is in the rings is older than the change, and belongs to the former file.
    const std::size_t taken = write_some();
    if (Target* const next = next_.exchange(nullptr, std::memory_order_acq_rel)) {
      target_.reset(next);
    } else if (last) {
      return;
    } else if (taken < kRing / 8) {
      bell_.wait(kPause);
    }
  }
}

void AccessLog::note_health(int error) noexcept {
  if (error != 0) {
    error_.store(error, std::memory_order_relaxed);
    if (!failing_.load(std::memory_order_relaxed)) failures_.add(1);  // before it shows below
  }
  failing_.store(error != 0, std::memory_order_release);
}

std::optional<AccessLog::Health> AccessLog::changed_health() noexcept {
  const auto lost_then = std::exchange(told_.lost, lost());
  const bool failing = failing_.load(std::memory_order_acquire);
  const auto failures = failures_.read();
  const auto before = std::exchange(told_.failures, failures);
  const bool begins = failures != before && !told_.failing;  // over already: that is told next
  if (!begins && failing == told_.failing) return std::nullopt;
  told_.failing = begins;
  if (begins) told_.lost_before = lost_then;
  return Health{.failing = begins,
                .error = error_.load(std::memory_order_relaxed),
                .lost = told_.lost - told_.lost_before};
}

std::size_t AccessLog::write_some() {
  const auto steady = io::steady_now();
  const auto wall = io::wall_now();
  std::size_t used = 0;
  std::size_t taken = 0;
  std::uint64_t lines = 0;
  const auto flush = [&] {
    if (used == 0) return;
    const auto wrote = target_->file.write({buffer_.data(), used});
    const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(wrote);
    const auto whole = static_cast<std::uint64_t>(std::count(buffer_.begin(), end, '\n'));
    note_health(target_->file.error());
    lines_.add(whole);
    lost_.add(lines - whole);
    used = 0;
    lines = 0;
  };
  for (auto& ring : rings_) {
    ring->ring_.drain([&](std::span<const std::byte> packed) {
      taken += packed.size();
      if (target_ == nullptr) return lost_.add(1);
      if (kPiece - used < kLine) flush();
      const AccessFacts facts = AccessFacts::unpack(packed);
      const auto at =
          std::chrono::floor<std::chrono::milliseconds>(io::wall_of(facts.ended, steady, wall));
      used +=
          write_access_line(facts, at, target_->format, std::span(buffer_).subspan(used, kLine));
      ++lines;
    });
  }
  flush();
  return taken;
}

}  // namespace steelyard::proxy
