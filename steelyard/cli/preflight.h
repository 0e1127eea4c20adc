// What `run` and a reload would refuse on this machine although the configuration says nothing
// wrong: a log that cannot be opened, a kernel without io_uring, drivers that disagree. For
// `check`; it opens no address and makes no file, so it may run beside the balancer.
//
// Not looked at: addresses (they may move here later) and the place of pid_file (often made by
// whoever starts the service).
#pragma once

#include "steelyard/cli/source.h"

namespace steelyard::cli {

// Adds the refusals to what is wrong with the source; with any its document is gone. Warnings are a
// log that only lacks rights, since `run` may be started by another user, and a pool that is small
// for as many workers as there are here.
void preflight(Source& source);

}  // namespace steelyard::cli
