// The benchmark's io_uring: one ring with deferred task work, groups of provided receive buffers,
// and a wait that sleeps or spins.
//
// Its spinning costs no system call: the kernel raises a flag in shared memory when completions
// wait. The proxy under test then never pays for waking this side up.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <liburing.h>
#include <sys/mman.h>

namespace bench {

enum class Kind : unsigned {
  kAccept = 1,
  kNode,
  kNodeSend,
  kNodeRoom,
  kLoad,
  kLoadSend,
  kCommand,
  kForget
};

// Receive buffers come in two sizes: many small ones serve many connections, few large ones stay in
// the cache.
enum Group : unsigned { kSmall, kMiddle };

// What completes: kind, index of the object, its generation (23 bits, against reuse of the index)
// and the group of buffers it receives into.
struct Tag {
  Kind kind;
  unsigned index = 0;
  unsigned generation = 0;
  Group group = kSmall;

  [[nodiscard]] std::uint64_t packed() const {
    return static_cast<std::uint64_t>(kind) << 56 | static_cast<std::uint64_t>(group) << 55 |
           static_cast<std::uint64_t>(generation & kGenerations) << 32 | index;
  }
  static Tag of(std::uint64_t packed) {
    return {static_cast<Kind>(packed >> 56), static_cast<unsigned>(packed),
            static_cast<unsigned>(packed >> 32) & kGenerations,
            static_cast<Group>(packed >> 55 & 1)};
  }
  static constexpr unsigned kGenerations = 0x7fffff;
};

class Buffers {
 public:
  void open(io_uring& ring, unsigned group, unsigned count, unsigned size) {
    group_ = group;
    count_ = count;
    size_ = size;
    ring_ = static_cast<io_uring_buf_ring*>(map(count * sizeof(io_uring_buf)));
    data_ = static_cast<char*>(map(std::size_t{count} * size));
    ::madvise(data_, std::size_t{count} * size, MADV_HUGEPAGE);
    io_uring_buf_reg reg{};
    reg.ring_addr = reinterpret_cast<std::uintptr_t>(ring_);
    reg.ring_entries = count;
    reg.bgid = static_cast<std::uint16_t>(group);
    if (const int error = io_uring_register_buf_ring(&ring, &reg, 0); error < 0) {
      std::fprintf(stderr, "far: receive buffers: %s\n", std::strerror(-error));
      std::exit(1);
    }
    io_uring_buf_ring_init(ring_);
    for (unsigned i = 0; i < count; ++i) give_back(i);
  }
  [[nodiscard]] const char* at(unsigned id) const { return data_ + std::size_t{id} * size_; }
  void give_back(unsigned id) {
    io_uring_buf_ring_add(ring_, data_ + std::size_t{id} * size_, size_,
                          static_cast<std::uint16_t>(id), io_uring_buf_ring_mask(count_), 0);
    io_uring_buf_ring_advance(ring_, 1);
  }

 private:
  static void* map(std::size_t bytes) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_ANONYMOUS | MAP_PRIVATE | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    return at;
  }

  io_uring_buf_ring* ring_ = nullptr;
  char* data_ = nullptr;
  unsigned group_ = 0, count_ = 0, size_ = 0;
};

class Ring {
 public:
  bool open() {
    io_uring_params params{};
    params.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_SUBMIT_ALL |
                   IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
    params.cq_entries = 32768;
    if (const int error = io_uring_queue_init_params(4096, &ring_, &params); error < 0) {
      std::fprintf(stderr, "far: io_uring: %s\n", std::strerror(-error));
      return false;
    }
    io_uring_register_ring_fd(&ring_);
    groups_[kSmall].open(ring_, kSmall, 2048, 2048);
    groups_[kMiddle].open(ring_, kMiddle, 128, 20480);
    return true;
  }

  io_uring_sqe* entry(Tag tag) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    tag_ = tag.packed();
    return sqe;
  }
  // After the entry was prepared, which clears it.
  void name(io_uring_sqe* sqe) const { io_uring_sqe_set_data64(sqe, tag_); }

  void receive_many(int fd, Tag tag) {
    auto* const sqe = entry(tag);
    io_uring_prep_recv_multishot(sqe, fd, nullptr, 0, 0);
    select(sqe, tag.group);
  }
  void receive_once(int fd, Tag tag) {
    auto* const sqe = entry(tag);
    io_uring_prep_recv(sqe, fd, nullptr, 0, 0);
    select(sqe, tag.group);
  }
  void receive_into(int fd, char* to, std::size_t size, int flags, Tag tag) {
    auto* const sqe = entry(tag);
    io_uring_prep_recv(sqe, fd, to, size, flags);
    name(sqe);
  }
  // Completes only when it failed. `data` must live until then.
  void send(int fd, const char* data, std::size_t size, Tag tag) {
    auto* const sqe = entry(tag);
    io_uring_prep_send(sqe, fd, data, size, MSG_NOSIGNAL | MSG_WAITALL);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    name(sqe);
  }
  void cancel(Tag what) {
    auto* const sqe = entry({Kind::kForget});
    io_uring_prep_cancel64(sqe, what.packed(), 0);
    name(sqe);
  }

  [[nodiscard]] const char* text(Group group, const io_uring_cqe& cqe) const {
    return groups_[group].at(cqe.flags >> IORING_CQE_BUFFER_SHIFT);
  }
  void give_back(Group group, const io_uring_cqe& cqe) {
    if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
      groups_[group].give_back(cqe.flags >> IORING_CQE_BUFFER_SHIFT);
    }
  }

  void flush() {
    if (io_uring_sq_ready(&ring_) > 0) io_uring_submit(&ring_);
  }
  void sleep(long long ns) {
    io_uring_cqe* first = nullptr;
    __kernel_timespec time{ns / 1000000000, ns % 1000000000};
    io_uring_submit_and_wait_timeout(&ring_, &first, 1, &time, nullptr);
  }
  // Submits and collects if there is anything to; never waits.
  void poll() {
    const bool work = (__atomic_load_n(ring_.sq.kflags, __ATOMIC_ACQUIRE) &
                       (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
    if (work || io_uring_sq_ready(&ring_) > 0) {
      io_uring_submit_and_get_events(&ring_);
    } else {
      __builtin_ia32_pause();
    }
  }
  // Calls f(cqe) for each completion; gives their number.
  template <typename F>
  unsigned each(F f) {
    io_uring_cqe* cqe = nullptr;
    unsigned head = 0;
    unsigned count = 0;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      f(*cqe);
      ++count;
    }
    io_uring_cq_advance(&ring_, count);
    return count;
  }

 private:
  void select(io_uring_sqe* sqe, Group group) const {
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = static_cast<std::uint16_t>(group);
    name(sqe);
  }

  io_uring ring_{};
  std::array<Buffers, 2> groups_;
  std::uint64_t tag_ = 0;
};

}  // namespace bench
