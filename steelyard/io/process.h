// Facts about and actions on processes: this one's id and limits, signals to others. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "steelyard/base/result.h"

namespace steelyard::io {

[[nodiscard]] int process_id() noexcept;
// Of the running kernel: "6.1.0-30-amd64"; "unknown" when it does not tell.
[[nodiscard]] std::string kernel_release();
// Raises the soft limit of open descriptors to the hard one. Gives the limit in force.
unsigned long raise_descriptor_limit() noexcept;
// The file that a process runs, "/usr/bin/steelyard"; empty when there is none or it may not be
// known.
[[nodiscard]] std::string program_of(int pid);
// The words that a process was started with, the first names the program; empty when there is none
// or they may not be known.
[[nodiscard]] std::vector<std::string> arguments_of(int pid);
// Where a program is that was called by this name: a path as it stands, another name as found in
// PATH, else the file that this process runs. Links are not followed: an upgrade may change them.
[[nodiscard]] std::string find_program(const std::string& called);
[[nodiscard]] base::Result<void> send_signal(int pid, int number);

}  // namespace steelyard::io
