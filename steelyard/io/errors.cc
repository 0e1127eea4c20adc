#include "steelyard/io/errors.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/socket.h>

namespace steelyard::io {

base::Code code_of(int error) noexcept {
  using base::Code;
  switch (error) {
    case ECONNREFUSED:
      return Code::kRefused;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
      return Code::kReset;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL:
    case ENETDOWN:
    case EHOSTDOWN:
    case EAFNOSUPPORT:
      return Code::kUnreachable;
    case ETIMEDOUT:
      return Code::kTimeout;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EDQUOT:
    case EFBIG:
      return Code::kLimit;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kDenied;
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EADDRINUSE:
    case EEXIST:
    case EBUSY:
      return Code::kConflict;
    case EINVAL:
    case ENAMETOOLONG:
      return Code::kInvalid;
    case ECANCELED:
      return Code::kCancelled;
    default:
      return Code::kIo;
  }
}

base::Error system_error(int error, std::string_view what, base::Origin origin) {
  base::Error made{.code = code_of(error), .origin = origin, .retry_safe = false, .text = {}};
  if (!what.empty()) {
    made.text.assign(what);
    made.text += ": ";
    // Not strerror: it is not safe beside other threads.
    const char* const meaning = ::strerrordesc_np(error);
    made.text += meaning != nullptr ? meaning : "unknown error";
  }
  return made;
}

int take_socket_error(int fd) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

}  // namespace steelyard::io
