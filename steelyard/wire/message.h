// Whole HTTP messages of the control side, as values: small, owned, in memory. Never on the data
// path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "steelyard/base/address.h"

namespace steelyard::wire {

struct Header {
  std::string name, value;
  friend bool operator==(const Header&, const Header&) = default;
};
using Headers = std::vector<Header>;

// The first one of that name, without regard to case; null when there is none.
[[nodiscard]] const std::string* find(const Headers& headers, std::string_view name) noexcept;

struct Request {
  std::string method = "GET";
  std::string target = "/";  // with query
  std::string host;          // client: empty means the address; server: what the request said
  Headers headers;           // without Host and what frames the message
  std::string body;
  base::Address peer;  // server: who asked

  [[nodiscard]] std::string_view path() const noexcept {
    return std::string_view(target).substr(0, target.find('?'));
  }
  [[nodiscard]] std::string_view query() const noexcept {  // behind the `?`; may be empty
    const std::size_t mark = target.find('?');
    return mark == std::string::npos ? std::string_view()
                                     : std::string_view(target).substr(mark + 1);
  }
  [[nodiscard]] const std::string* header(std::string_view name) const noexcept {
    return find(headers, name);
  }
};

struct Response {
  std::uint16_t status = 200;
  Headers headers;  // without what frames the message
  std::string body;

  [[nodiscard]] const std::string* header(std::string_view name) const noexcept {
    return find(headers, name);
  }
  static Response text(std::uint16_t status, std::string body,
                       std::string type = "text/plain; charset=utf-8") {
    return {status, {{"Content-Type", std::move(type)}}, std::move(body)};
  }
  static Response json(std::uint16_t status, std::string body) {
    return text(status, std::move(body), "application/json");
  }
};

// Value of `name` in a query string, percent and plus decoded; false when it is not there or not
// decodable.
[[nodiscard]] bool query_value(std::string_view query, std::string_view name, std::string& out);

}  // namespace steelyard::wire
