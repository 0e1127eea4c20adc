// Whether two paths name one file: by what is there, else by where it would be.
#pragma once

#include <string>

namespace steelyard::io {

// By device and inode where both exist (links of either kind), else by the paths with their
// directories' links followed. Paths that cannot be looked at are compared as written.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);
// Something is there that is no regular file: a directory, a FIFO, a device.
[[nodiscard]] bool is_special_file(const std::string& path);

}  // namespace steelyard::io
