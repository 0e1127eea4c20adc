#include "steelyard/io/uring_ring.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "steelyard/io/errors.h"

namespace steelyard::io {

namespace {

constexpr std::uint32_t kNeeded = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |
                                  IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_FAST_POLL |
                                  IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;

unsigned setup_flags(UringOptions::Wake wake) noexcept {
  constexpr unsigned kAlways =
      IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP | IORING_SETUP_R_DISABLED;
  switch (wake) {
    case UringOptions::Wake::kDeferred:
      return kAlways | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    case UringOptions::Wake::kCooperative:
      return kAlways | IORING_SETUP_COOP_TASKRUN;
    case UringOptions::Wake::kInterrupting:
      break;
  }
  return kAlways;
}

int control(int fd, unsigned what, const void* argument, unsigned count) noexcept {
  return static_cast<int>(::syscall(__NR_io_uring_register, fd, what, argument, count));
}

// Every opcode the reactor needs; the name of one that is missing, else null.
const char* missing_opcode(int fd) {
  constexpr unsigned kOps = 64;
  alignas(io_uring_probe)
      std::array<std::byte, sizeof(io_uring_probe) + kOps * sizeof(io_uring_probe_op)>
          room{};
  auto* const probe = reinterpret_cast<io_uring_probe*>(room.data());
  if (control(fd, IORING_REGISTER_PROBE, probe, kOps) != 0) return "the list of operations";
  constexpr std::array<const char*, kUringOpcodes.size()> kNames{
      "recv", "send", "sendmsg", "accept", "connect", "poll", "close", "cancel"};
  for (std::size_t i = 0; i < kUringOpcodes.size(); ++i) {
    const std::uint8_t op = kUringOpcodes[i];
    if (op > probe->last_op || (probe->ops[op].flags & IO_URING_OP_SUPPORTED) == 0) {
      return kNames[i];
    }
  }
  return nullptr;
}

base::Error lacking(const std::string& what) {
  return {.code = base::Code::kNotFound,
          .origin = base::Origin::kUs,
          .retry_safe = false,
          .text = "the kernel's io_uring lacks " + what};
}

}  // namespace

base::Result<std::unique_ptr<UringRing>> UringRing::make(const UringOptions& options) {
  io_uring_params params{};
  params.flags = setup_flags(options.wake);
  params.cq_entries = std::max(options.completions, 2 * options.entries);
  std::unique_ptr<UringRing> ring(new UringRing);
  ring->fd_ = Fd(static_cast<int>(::syscall(__NR_io_uring_setup, options.entries, &params)));
  if (!ring->fd_.valid()) return system_error(errno, "make an io_uring");
  if ((params.features & kNeeded) != kNeeded) return lacking("features of Linux 5.17");
  if (const char* const name = missing_opcode(ring->fd_.get())) return lacking(name);
  if (!ring->map(params)) return system_error(errno, "map an io_uring");
  return ring;
}

bool UringRing::map(const io_uring_params& params) {
  rings_size_ =
      std::max<std::size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                            params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  constexpr int kKind = MAP_SHARED | MAP_POPULATE;
  void* const rings =
      ::mmap(nullptr, rings_size_, kProtection, kKind, fd_.get(), IORING_OFF_SQ_RING);
  if (rings == MAP_FAILED) return false;
  rings_ = rings;
  void* const sqes = ::mmap(nullptr, params.sq_entries * sizeof(io_uring_sqe), kProtection, kKind,
                            fd_.get(), IORING_OFF_SQES);
  if (sqes == MAP_FAILED) return false;
  sqes_ = static_cast<io_uring_sqe*>(sqes);
  entries_ = params.sq_entries;
  auto* const base = static_cast<std::byte*>(rings);
  const auto word = [&](std::uint32_t at) { return reinterpret_cast<unsigned*>(base + at); };
  sq_head_ = word(params.sq_off.head);
  sq_tail_ = word(params.sq_off.tail);
  sq_flags_ = word(params.sq_off.flags);
  sq_mask_ = *word(params.sq_off.ring_mask);
  cq_head_ = word(params.cq_off.head);
  cq_tail_ = word(params.cq_off.tail);
  cq_mask_ = *word(params.cq_off.ring_mask);
  cqes_ = reinterpret_cast<const io_uring_cqe*>(base + params.cq_off.cqes);
  // Entries are used in order, so the indirection is filled once.
  unsigned* const array = word(params.sq_off.array);
  for (unsigned i = 0; i < entries_; ++i) array[i] = i;
  return true;
}

UringRing::~UringRing() {
  if (sqes_ != nullptr) ::munmap(sqes_, entries_ * sizeof(io_uring_sqe));
  if (rings_ != nullptr) ::munmap(rings_, rings_size_);
}

base::Result<void> UringRing::add_buffers(const void* ring, unsigned count) {
  io_uring_buf_reg request{};
  request.ring_addr = reinterpret_cast<std::uint64_t>(ring);
  request.ring_entries = count;
  request.bgid = kUringBufferGroup;
  if (control(fd_.get(), IORING_REGISTER_PBUF_RING, &request, 1) != 0) {
    return errno == EINVAL ? lacking("buffer rings (Linux 5.19)")
                           : system_error(errno, "register a buffer ring");
  }
  return {};
}

base::Result<void> UringRing::enable() {
  std::array<io_uring_restriction, kUringOpcodes.size() + 1> allowed{};
  for (std::size_t i = 0; i < kUringOpcodes.size(); ++i) {
    allowed[i].opcode = IORING_RESTRICTION_SQE_OP;
    allowed[i].sqe_op = kUringOpcodes[i];
  }
  allowed.back().opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED;
  allowed.back().sqe_flags = kUringFlags;
  if (control(fd_.get(), IORING_REGISTER_RESTRICTIONS, allowed.data(), allowed.size()) != 0) {
    return system_error(errno, "restrict an io_uring");
  }
  if (control(fd_.get(), IORING_REGISTER_ENABLE_RINGS, nullptr, 0) != 0) {
    return system_error(errno, "enable an io_uring");
  }
  return {};
}

int UringRing::enter(unsigned completions, Duration longest) {
  std::atomic_ref(*sq_tail_).store(tail_, std::memory_order_release);
  io_uring_getevents_arg argument{};
  __kernel_timespec time{};
  if (longest == Duration::zero()) {
    completions = 0;
  } else if (longest != Duration::max()) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(longest);
    time.tv_sec = whole.count();
    time.tv_nsec = (longest - whole).count();
    argument.ts = reinterpret_cast<std::uint64_t>(&time);
  }
  ++enters_;
  const long taken =
      ::syscall(__NR_io_uring_enter, fd_.get(), tail_ - submitted_, completions,
                IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
  if (taken < 0) return errno;
  submitted_ += static_cast<unsigned>(taken);
  submitted_total_ += static_cast<unsigned>(taken);
  return 0;
}

// More was queued in a turn than the ring holds: the kernel takes it now, and completions wait.
void UringRing::make_room() {
  while (tail_ - load(sq_head_) >= entries_) {
    const int error = enter(0, Duration::zero());
    if (error != 0 && error != EINTR && error != EAGAIN && error != EBUSY) std::abort();
  }
}

}  // namespace steelyard::io
