#include "steelyard/base/result.h"

namespace steelyard::base {

std::string_view to_text(Code code) noexcept {
  switch (code) {
    case Code::kUnknown:
      return "unknown error";
    case Code::kInvalid:
      return "invalid";
    case Code::kNotFound:
      return "not found";
    case Code::kConflict:
      return "conflict";
    case Code::kRefused:
      return "connection refused";
    case Code::kReset:
      return "connection reset";
    case Code::kUnreachable:
      return "unreachable";
    case Code::kTimeout:
      return "timed out";
    case Code::kProtocol:
      return "protocol error";
    case Code::kLimit:
      return "limit reached";
    case Code::kDenied:
      return "permission denied";
    case Code::kIo:
      return "input/output error";
    case Code::kCancelled:
      return "cancelled";
  }
  return "unknown error";
}

std::string_view to_text(Origin origin) noexcept {
  switch (origin) {
    case Origin::kUnknown:
      return "unknown";
    case Origin::kClient:
      return "client";
    case Origin::kNode:
      return "node";
    case Origin::kUs:
      return "steelyard";
    case Origin::kOperator:
      return "operator";
  }
  return "unknown";
}

}  // namespace steelyard::base
