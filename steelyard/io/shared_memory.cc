#include "steelyard/io/shared_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "steelyard/io/errors.h"

namespace steelyard::io {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

base::Result<std::byte*> map(const Fd& fd, std::size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return system_error(errno, "map shared memory");
  return static_cast<std::byte*>(at);
}

// Not a defence against an attacker: it tells a half that was not finished.
std::uint64_t checksum(std::uint64_t number, std::string_view text) noexcept {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15ULL;
  std::uint64_t sum = (number ^ text.size()) * kPrime + 1;
  const auto mix = [&](std::uint64_t word) { sum = ((sum ^ word) * kPrime) ^ (sum >> 29U); };
  std::uint64_t word = 0;
  while (text.size() >= sizeof word) {
    std::memcpy(&word, text.data(), sizeof word);
    mix(word);
    text.remove_prefix(sizeof word);
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  mix(word);
  return sum;
}

}  // namespace

base::Result<SharedMemory> SharedMemory::create(const char* name, std::size_t bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return system_error(errno, std::string("make the memory ") + name);
  }
  const auto at = map(fd, bytes);
  if (!at) return at.error();
  return SharedMemory(std::move(fd), *at, bytes);
}

base::Result<SharedMemory> SharedMemory::attach(Fd fd, std::size_t bytes) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return system_error(errno, "look at shared memory");
  if (static_cast<std::size_t>(info.st_size) < bytes ||
      (::fcntl(fd.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
    return base::Error{base::Code::kInvalid, base::Origin::kUs, false,
                       "shared memory is too small or not sealed"};
  }
  const auto at = map(fd, bytes);
  if (!at) return at.error();
  return SharedMemory(std::move(fd), *at, bytes);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

// --- state

struct StateMemory::Half {
  std::atomic<std::uint64_t> number;  // 0: being written, or never was
  std::uint64_t size;
  std::uint64_t sum;
  char text[kMost];
};

struct alignas(base::kCacheLine) StateMemory::Head {
  std::atomic<std::int32_t> serving;
};

StateMemory::Head& StateMemory::head() const noexcept {
  return *std::launder(reinterpret_cast<Head*>(memory_.data()));
}

StateMemory::Half& StateMemory::half(std::size_t index) const noexcept {
  return *std::launder(
      reinterpret_cast<Half*>(memory_.data() + sizeof(Head) + index * sizeof(Half)));
}

int StateMemory::serving() const noexcept { return head().serving.load(std::memory_order_acquire); }

void StateMemory::set_serving(int pid) noexcept {
  head().serving.store(pid, std::memory_order_release);
}

base::Result<StateMemory> StateMemory::create(const char* name) {
  auto memory = SharedMemory::create(name, sizeof(Head) + 2 * sizeof(Half));
  if (!memory) return std::move(memory).error();
  return StateMemory(std::move(*memory));
}

base::Result<StateMemory> StateMemory::attach(Fd fd) {
  auto memory = SharedMemory::attach(std::move(fd), sizeof(Head) + 2 * sizeof(Half));
  if (!memory) return std::move(memory).error();
  return StateMemory(std::move(*memory));
}

// Its number when it is whole, else 0.
std::uint64_t StateMemory::valid(const Half& half, std::string* text) const {
  const std::uint64_t number = half.number.load(std::memory_order_acquire);
  if (number == 0 || half.size > kMost) return 0;
  std::string copy(half.text, half.size);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (half.number.load(std::memory_order_relaxed) != number) return 0;
  if (checksum(number, copy) != half.sum) return 0;
  if (text != nullptr) *text = std::move(copy);
  return number;
}

// Over the older half. Only the numbers are compared: the half that the last writer left unfinished
// has number 0 and is the older one.
bool StateMemory::write(std::string_view text) noexcept {
  if (text.size() > kMost) return false;
  const std::uint64_t first = half(0).number.load(std::memory_order_relaxed);
  const std::uint64_t second = half(1).number.load(std::memory_order_relaxed);
  Half& to = half(first <= second ? 0 : 1);
  const std::uint64_t number = std::max(first, second) + 1;
  to.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(to.text, text.data(), text.size());
  to.size = text.size();
  to.sum = checksum(number, text);
  to.number.store(number, std::memory_order_release);
  return true;
}

std::string StateMemory::read() const {
  std::string first;
  std::string second;
  const std::uint64_t a = valid(half(0), &first);
  const std::uint64_t b = valid(half(1), &second);
  return a > b ? first : second;
}

// --- heartbeat

base::Result<Heartbeat> Heartbeat::create() {
  auto memory = SharedMemory::create("steelyard-heartbeat", kLoops * sizeof(Pulse));
  if (!memory) return std::move(memory).error();
  return Heartbeat(std::move(*memory));
}

base::Result<Heartbeat> Heartbeat::attach(Fd fd) {
  auto memory = SharedMemory::attach(std::move(fd), kLoops * sizeof(Pulse));
  if (!memory) return std::move(memory).error();
  return Heartbeat(std::move(*memory));
}

Heartbeat::Pulse& Heartbeat::pulse(unsigned loop) const noexcept {
  return *std::launder(reinterpret_cast<Pulse*>(memory_.data() + loop * sizeof(Pulse)));
}

int PulseWatch::stalled(const Heartbeat& heartbeat, base::TimePoint now,
                        base::Duration most) noexcept {
  const bool fresh = now - looked_ > most / 2;
  looked_ = now;
  int found = 0;
  for (unsigned loop = 0; loop < Heartbeat::kLoops; ++loop) {
    const auto& pulse = heartbeat.pulse(loop);
    const std::int32_t thread = pulse.thread.read();
    if (thread == 0) continue;
    Seen& seen = seen_[loop];
    const std::uint64_t count = pulse.count.read();
    if (fresh || count != seen.count || seen.at == base::TimePoint{}) {
      seen = {count, now};
    } else if (now - seen.at >= most && found == 0) {
      found = thread;
    }
  }
  return found;
}

Beating::Beating(Heartbeat::Pulse* pulse) noexcept : pulse_(pulse) {
  if (pulse_ != nullptr) pulse_->thread.set(::gettid());
}

Beating::~Beating() {
  if (pulse_ != nullptr) pulse_->thread.set(0);
}

}  // namespace steelyard::io
