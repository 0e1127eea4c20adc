// What becomes of a process that crashes: it says where on stderr, leaves no core, and ends soon.
#pragma once

namespace steelyard::io {

// For SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT: prints the signal, the thread and its stack to
// stderr, async-signal-safe, then ends by that signal. Ends within a second even when nobody reads
// stderr. To be called once, in main, before the first thread.
void tell_crashes() noexcept;

// No core files and no pipe to a core handler either, which would hold up a restart until it has
// read the whole memory.
void leave_no_core() noexcept;

}  // namespace steelyard::io
