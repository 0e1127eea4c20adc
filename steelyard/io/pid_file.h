// The pid file: tells `-s` where to send its signals.
//
// Claimed before anything else happens at start. A file that names a running steelyard, or that
// holds anything but a process id, is left alone and is an error: two processes must not share one,
// and a mistyped path must not cost a file. Removed at the end, if it is still ours.
#pragma once

#include <span>
#include <string>

#include "steelyard/base/result.h"

namespace steelyard::io {

// `ours`: processes that may be named there too, since we took over from them.
[[nodiscard]] base::Result<void> claim_pid_file(const std::string& path,
                                                std::span<const int> ours = {});
void drop_pid_file(const std::string& path);
// The process named there, if it runs this program.
[[nodiscard]] base::Result<int> running_process(const std::string& path);

}  // namespace steelyard::io
