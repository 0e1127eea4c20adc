// Whole files: read with a cap, replace atomically, lock.
//
// Replacing: a temporary file in the target's directory (O_EXCL, O_NOFOLLOW), mode, everything
// written, fsync; then rename and fsync of the directory. At every moment, also after a crash, the
// target holds the old or the new bytes, whole. A target that is a symlink, not a regular file or a
// mount point is refused with the reason, because a rename would replace something else than meant
// (a mounted single file keeps its old inode); `in_place` is the way out, not atomic. Errors name
// the path, the step, the meaning of errno, the user and the right that is needed. All calls block.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "steelyard/base/result.h"
#include "steelyard/io/fd.h"

namespace steelyard::io {

[[nodiscard]] base::Result<std::string> read_file(const std::string& path,
                                                  std::size_t most = std::size_t{16} << 20);

struct ReplaceOptions {
  mode_t mode = 0644;     // of a new file; an existing target's mode and owner are kept
  bool in_place = false;  // write into the existing file and fsync it: for single-file mounts; a
                          // crash can leave half
};

// A new content written and synced beside its target, not yet in its place: test it at `path()`,
// then `commit`. The destructor removes what was not committed.
class StagedFile {
 public:
  [[nodiscard]] static base::Result<StagedFile> stage(const std::string& target,
                                                      std::string_view text,
                                                      const ReplaceOptions& options = {});
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  [[nodiscard]] const std::string& path() const noexcept { return temporary_; }
  [[nodiscard]] base::Result<void> commit();

 private:
  StagedFile(std::string target, std::string temporary, bool in_place) noexcept;
  std::string target_;
  std::string temporary_;  // empty: nothing to remove
  bool in_place_ = false;
};

[[nodiscard]] base::Result<void> replace_file(const std::string& path, std::string_view text,
                                              const ReplaceOptions& options = {});
// Start-up self test of the rights `replace_file` needs: creates, syncs, renames and removes a file
// beside the target.
[[nodiscard]] base::Result<void> can_replace(const std::string& path,
                                             const ReplaceOptions& options = {});
// Whether the path is itself a mount point (a bind-mounted file).
[[nodiscard]] bool is_mount_point(const std::string& path);
// Removes a file; one that is not there is success.
[[nodiscard]] base::Result<void> remove_file(const std::string& path);

// A lock file held with flock: one owner at a time, on one machine. The kernel drops the lock when
// its holder dies, so a stale file is simply taken over. The file holds "PID text" of its owner,
// for people.
class LockFile {
 public:
  // kConflict, naming the owner, when another process (or another LockFile) holds it.
  [[nodiscard]] static base::Result<LockFile> acquire(const std::string& path,
                                                      std::string_view owner);
  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();  // empties the file and unlocks; the file stays, because removing it would race

  // The former owner whose stale lock was taken over ("1234 steelyard run"), or empty.
  [[nodiscard]] const std::string& taken_over() const noexcept { return taken_over_; }

 private:
  LockFile(Fd fd, std::string taken_over) noexcept
      : fd_(std::move(fd)), taken_over_(std::move(taken_over)) {}
  Fd fd_;
  std::string taken_over_;
};

}  // namespace steelyard::io
