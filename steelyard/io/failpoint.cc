#include "steelyard/io/failpoint.h"

#include <csignal>
#include <cstdlib>

namespace steelyard::io {

#ifdef NDEBUG
void failpoint(std::string_view /*when*/, std::string_view /*where*/) noexcept {}
bool has_failpoints() noexcept { return false; }
#else
void failpoint(std::string_view when, std::string_view where) noexcept {
  const char* const named = std::getenv("STEELYARD_FAILPOINT");
  if (named == nullptr) return;
  const std::string_view name(named);
  if (name.size() == when.size() + 1 + where.size() && name.starts_with(when) &&
      name[when.size()] == '.' && name.ends_with(where)) {
    (void)std::raise(SIGKILL);
  }
}
bool has_failpoints() noexcept { return true; }
#endif

}  // namespace steelyard::io
