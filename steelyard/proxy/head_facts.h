// HeadFacts: what routing asks of a request, looked up in its head when asked.
#pragma once

#include <span>
#include <string_view>

#include "steelyard/http/lookup.h"
#include "steelyard/request/facts.h"
#include "steelyard/request/network.h"

namespace steelyard::proxy {

class HeadFacts final : public request::Facts {
 public:
  // `head` must outlive it.
  HeadFacts(const http::Head& head, const base::Address& client) noexcept
      : head_(head), client_(client) {}

  [[nodiscard]] std::optional<std::string_view> header(
      std::string_view name) const noexcept override {
    return http::header(head_, name);
  }
  [[nodiscard]] std::optional<std::string_view> cookie(
      std::string_view name) const noexcept override {
    return http::cookie(head_, name);
  }
  [[nodiscard]] std::optional<std::string_view> query(
      std::string_view name) const noexcept override {
    return http::query_argument(head_, name);
  }
  [[nodiscard]] base::Address client() const noexcept override { return client_; }
  [[nodiscard]] std::string_view path() const noexcept override { return http::path_of(head_); }
  [[nodiscard]] std::string_view uri() const noexcept override { return head_.path; }
  [[nodiscard]] std::string_view host() const noexcept override { return head_.authority; }

 private:
  const http::Head& head_;
  base::Address client_;
};

[[nodiscard]] bool is_trusted(const base::Address& address,
                              std::span<const request::Network> trusted) noexcept;

// Who asks, when `peer` may tell: the right-most entry of X-Forwarded-For that is not trusted. The
// left-most where all are; where one cannot be read, the hop that sent it; without any, the peer.
[[nodiscard]] base::Address client_behind(const base::Address& peer, const http::Head& head,
                                          std::span<const request::Network> trusted) noexcept;

}  // namespace steelyard::proxy
