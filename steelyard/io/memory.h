// Freed memory and the system: the C library keeps what was freed, for each thread apart, so the
// largest moment of the past would decide what a process occupies.
//
// Any thread. Does nothing where the C library is not glibc.
#pragma once

namespace steelyard::io {

// Once, before other threads are started. Unless told, glibc takes the largest block that was ever
// freed for the size to be generous with: from then on it keeps twice as much at each thread's end
// of memory, and takes blocks of that size from there. Here both stay at 1 MiB.
void limit_kept_memory() noexcept;

// Gives back all pages that hold nothing. Takes each thread's lock on its memory in turn, for about
// 0.1 ms a MiB that there is to give: a thread that allocates meanwhile waits. Not for threads that
// must not wait.
void give_back_memory() noexcept;

}  // namespace steelyard::io
