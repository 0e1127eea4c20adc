// The calls that every request makes, without libc's points of cancellation, which cost each of
// them two atomic operations in a program with threads. No thread here is ever cancelled. Results
// and errno are libc's. Sanitizers see the usual functions.
#pragma once

#include <cstddef>
#include <ctime>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace steelyard::io {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kDirectCalls = false;
#else
inline constexpr bool kDirectCalls = true;
#endif

inline ssize_t receive(int fd, void* to, std::size_t size) noexcept {
  if constexpr (!kDirectCalls) return ::recv(fd, to, size, 0);
  return ::syscall(SYS_recvfrom, fd, to, size, 0, nullptr, nullptr);
}

inline ssize_t send(int fd, const void* from, std::size_t size) noexcept {
  if constexpr (!kDirectCalls) return ::send(fd, from, size, MSG_NOSIGNAL);
  return ::syscall(SYS_sendto, fd, from, size, MSG_NOSIGNAL, nullptr, 0);
}

inline ssize_t send(int fd, const msghdr& message) noexcept {
  if constexpr (!kDirectCalls) return ::sendmsg(fd, &message, MSG_NOSIGNAL);
  return ::syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL);
}

inline int wait_for_events(int epoll, epoll_event* to, int most, const timespec& longest) noexcept {
  if constexpr (!kDirectCalls) return ::epoll_pwait2(epoll, to, most, &longest, nullptr);
  return static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, to, most, &longest, nullptr, 0));
}

}  // namespace steelyard::io
