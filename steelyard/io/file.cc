#include "steelyard/io/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <memory>
#include <optional>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "steelyard/io/errors.h"

namespace steelyard::io {

namespace {

using base::Error;
using base::Result;

constexpr std::string_view kSuffix = ".new";  // not .conf: an include pattern must not pick it up

std::string user_name() {
  std::array<char, 1024> room{};
  passwd entry{};
  passwd* found = nullptr;
  const uid_t user = ::geteuid();
  if (::getpwuid_r(user, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) {
    return entry.pw_name;
  }
  return "with id " + std::to_string(user);
}

// "write PATH: STEP: MEANING (user NAME needs RIGHT)": the right is named where it is the likely
// cause.
Error step_error(int error, const std::string& path, const std::string& step,
                 const std::string& right) {
  Error made = system_error(error, "write " + path + ": " + step);
  if (made.code == base::Code::kDenied)
    made.text += " (user " + user_name() + " needs " + right + ")";
  return made;
}

Error refusal(base::Code code, const std::string& path, const std::string& why) {
  return {code, base::Origin::kOperator, false, "write " + path + ": " + why};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string directory_right(const std::string& path) {
  return "the right to write to the directory " + directory_of(path);
}

Error mount_refusal(const std::string& path) {
  return refusal(base::Code::kConflict, path,
                 "it is a mount point, which cannot be replaced by a rename; mount its directory "
                 "instead of the "
                 "single file, or allow writing in place");
}

struct Target {
  bool exists = false;
  struct stat state{};
};

// What stands at the path, refusing what a rename would not replace as meant.
Result<Target> look_at(const std::string& path, bool in_place) {
  Target target;
  if (::lstat(path.c_str(), &target.state) != 0) {
    if (errno == ENOENT && !in_place) return target;
    return step_error(errno, path, "look at it",
                      "the right to search the directory " + directory_of(path));
  }
  target.exists = true;
  if (S_ISLNK(target.state.st_mode)) {
    return refusal(base::Code::kConflict, path, "it is a symbolic link; name the file itself");
  }
  if (!S_ISREG(target.state.st_mode)) {
    return refusal(base::Code::kConflict, path, "it is not a regular file");
  }
  if (!in_place && is_mount_point(path)) return mount_refusal(path);
  return target;
}

Result<void> write_all(const Fd& fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return step_error(errno, path, "write the bytes", "the right to write to it");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(fd.get()) != 0)
    return step_error(errno, path, "sync to disk", "the right to write to it");
  return {};
}

Result<void> sync_directory(const std::string& path) {
  const Fd directory(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    return step_error(errno, path, "open the directory",
                      "the right to read the directory " + directory_of(path));
  }
  // EINVAL: the file system cannot sync directories; there is nothing better to do then.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) {
    return step_error(errno, path, "sync the directory", directory_right(path));
  }
  return {};
}

// Removes what a killed process left beside the target: ".NAME.PID.new" of a PID that is gone.
void sweep_leftovers(const std::string& target) {
  const std::string directory = directory_of(target);
  const std::string prefix = "." + name_of(target) + ".";
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
  if (!open) return;
  while (const dirent* const entry = ::readdir(open.get())) {
    const std::string name = entry->d_name;
    if (name.size() <= prefix.size() + kSuffix.size() || !name.starts_with(prefix) ||
        !name.ends_with(kSuffix))
      continue;
    const char* const from = name.data() + prefix.size();
    const char* const to = name.data() + name.size() - kSuffix.size();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(from, to, pid);
    if (bad != std::errc{} || end != to || pid <= 0) continue;
    if (::kill(pid, 0) != 0 && errno == ESRCH) ::unlink((directory + "/" + name).c_str());
  }
}

Result<Fd> create_beside(const std::string& target, const std::string& temporary) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::open(temporary.c_str(), kFlags, 0600));
  if (!fd.valid() && errno == EEXIST) {  // of an earlier process with our id
    ::unlink(temporary.c_str());
    fd = Fd(::open(temporary.c_str(), kFlags, 0600));
  }
  if (!fd.valid()) {
    return step_error(errno, target, "create a temporary file beside it", directory_right(target));
  }
  return fd;
}

Result<void> take_over_looks(const Fd& fd, const std::string& path, const Target& target,
                             mode_t mode) {
  if (target.exists) {
    mode = target.state.st_mode & 07777U;
    struct stat mine{};
    const bool same = ::fstat(fd.get(), &mine) == 0 && mine.st_uid == target.state.st_uid &&
                      mine.st_gid == target.state.st_gid;
    if (!same && ::fchown(fd.get(), target.state.st_uid, target.state.st_gid) != 0) {
      return step_error(errno, path, "keep its owner", "to own the file");
    }
  }
  if (::fchmod(fd.get(), mode) != 0)
    return step_error(errno, path, "set its mode", "to own the file");
  return {};
}

Result<void> write_in_place(const std::string& path, std::string_view text) {
  if (auto target = look_at(path, true); !target) return target.error();
  const Fd fd(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return step_error(errno, path, "open it", "the right to write to it");
  if (::ftruncate(fd.get(), 0) != 0)
    return step_error(errno, path, "empty it", "the right to write to it");
  return write_all(fd, text, path);
}

Result<void> rename_over(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  if (errno == EBUSY || errno == EXDEV) return mount_refusal(to);
  return step_error(errno, to, "put the new file in its place", directory_right(to));
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t most) {
  // Without waiting: opening a named pipe would wait for its writer for ever.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    Error made = system_error(errno, "read " + path);
    if (made.code == base::Code::kDenied)
      made.text += " (user " + user_name() + " needs the right to read it)";
    return made;
  }
  struct stat found{};
  if (::fstat(fd.get(), &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode))) {
    return Error{base::Code::kInvalid, base::Origin::kOperator, false,
                 "read " + path + ": it is a pipe or a socket, not a file"};
  }
  std::string out;
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t got = ::read(fd.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(errno, "read " + path);
    if (got == 0) return out;
    out.append(part.data(), static_cast<std::size_t>(got));
    if (out.size() > most) {
      return Error{base::Code::kLimit, base::Origin::kOperator, false,
                   "read " + path + ": it is larger than " + std::to_string(most) + " bytes"};
    }
  }
}

StagedFile::StagedFile(std::string target, std::string temporary, bool in_place) noexcept
    : target_(std::move(target)), temporary_(std::move(temporary)), in_place_(in_place) {}

StagedFile::StagedFile(StagedFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      in_place_(other.in_place_) {}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<StagedFile> StagedFile::stage(const std::string& target, std::string_view text,
                                     const ReplaceOptions& options) {
  const auto found = look_at(target, options.in_place);
  if (!found) return found.error();
  sweep_leftovers(target);
  StagedFile staged(target,
                    directory_of(target) + "/." + name_of(target) + "." +
                        std::to_string(::getpid()) + std::string(kSuffix),
                    options.in_place);
  const auto fd = create_beside(target, staged.temporary_);
  if (!fd) {
    staged.temporary_.clear();
    return fd.error();
  }
  if (auto done = take_over_looks(*fd, target, *found, options.mode); !done) return done.error();
  if (auto done = write_all(*fd, text, target); !done) return done.error();
  return staged;
}

Result<void> StagedFile::commit() {
  if (in_place_) {
    const auto text = read_file(temporary_);
    if (!text) return text.error();
    return write_in_place(target_, *text);
  }
  // Looked at again: what the target is may have changed since it was staged.
  if (auto found = look_at(target_, false); !found) return found.error();
  if (auto done = rename_over(temporary_, target_); !done) return done;
  temporary_.clear();
  return sync_directory(target_);
}

Result<void> replace_file(const std::string& path, std::string_view text,
                          const ReplaceOptions& options) {
  if (options.in_place) return write_in_place(path, text);
  auto staged = StagedFile::stage(path, text, options);
  if (!staged) return std::move(staged).error();
  return staged->commit();
}

Result<void> can_replace(const std::string& path, const ReplaceOptions& options) {
  if (options.in_place) {
    if (auto found = look_at(path, true); !found) return found.error();
    const Fd fd(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) return step_error(errno, path, "open it", "the right to write to it");
    return {};
  }
  auto staged = StagedFile::stage(path, {}, options);
  if (!staged) return std::move(staged).error();
  const std::string renamed = staged->path() + ".test";
  if (::rename(staged->path().c_str(), renamed.c_str()) != 0) {
    return step_error(errno, path, "rename a file beside it", directory_right(path));
  }
  if (::unlink(renamed.c_str()) != 0) {
    return step_error(errno, path, "remove a file beside it", directory_right(path));
  }
  return sync_directory(path);
}

bool is_mount_point(const std::string& path) {
  struct statx state{};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &state) != 0) return false;
  return (state.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  Error made = system_error(errno, "remove " + path);
  if (made.code == base::Code::kDenied)
    made.text += " (user " + user_name() + " needs " + directory_right(path) + ")";
  return made;
}

}  // namespace steelyard::io
