// The word for what a codec refused, in the vocabulary of our own answers.
#pragma once

#include "steelyard/http/codec.h"
#include "steelyard/request/reason.h"

namespace steelyard::proxy {

[[nodiscard]] constexpr request::Reason reason_of(const http::Reset& reset) noexcept {
  switch (reset.status) {
    case 405:
    case 501:
      return request::Reason::kNotOffered;
    case 408:
      return request::Reason::kClientTimeout;
    case 413:
      return request::Reason::kBodyTooLarge;
    case 414:
      return request::Reason::kLineTooLong;
    case 431:
      return request::Reason::kHeadTooLarge;
    case 503:
      return request::Reason::kOverload;
    default:
      return request::Reason::kBadRequest;
  }
}

}  // namespace steelyard::proxy
