// Facts about and actions on processes: this one's id and limits, signals to others. Threads: any.
#pragma once

#include <string>

#include "steelyard/base/result.h"

namespace steelyard::io {

[[nodiscard]] int process_id() noexcept;
// Raises the soft limit of open descriptors to the hard one. Gives the limit in force.
unsigned long raise_descriptor_limit() noexcept;
// The file that a process runs, "/usr/bin/steelyard"; empty when there is none or it may not be
// known.
[[nodiscard]] std::string program_of(int pid);
[[nodiscard]] base::Result<void> send_signal(int pid, int number);

}  // namespace steelyard::io
