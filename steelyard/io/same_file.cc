#include "steelyard/io/same_file.h"

#include <filesystem>
#include <sys/stat.h>
#include <system_error>

namespace steelyard::io {
namespace {

std::filesystem::path where(const std::string& path) {
  std::error_code failed;
  auto out = std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  return failed ? std::filesystem::path(path).lexically_normal() : out;
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  if (a == b) return true;
  struct stat first{}, second{};
  const bool both = ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0;
  if (both) return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  return where(a) == where(b);
}

bool is_special_file(const std::string& path) {
  struct stat is{};
  return ::stat(path.c_str(), &is) == 0 && !S_ISREG(is.st_mode);
}

}  // namespace steelyard::io
