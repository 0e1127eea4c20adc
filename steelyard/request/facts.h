// What routing may ask of a request beyond host, path and method. Asked only when a route wants it,
// so that nothing is looked up for the others.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "steelyard/base/address.h"
#include "steelyard/base/result.h"

namespace steelyard::request {

// Views live as long as the request's head. Nothing: it is not there; an empty one is.
class Facts {
 public:
  [[nodiscard]] virtual std::optional<std::string_view> header(
      std::string_view name) const noexcept = 0;  // the first line of that name, whatever its case
  [[nodiscard]] virtual std::optional<std::string_view> cookie(
      std::string_view name) const noexcept = 0;
  [[nodiscard]] virtual std::optional<std::string_view> query(
      std::string_view name) const noexcept = 0;                     // as sent
  [[nodiscard]] virtual base::Address client() const noexcept = 0;   // behind trusted proxies
  [[nodiscard]] virtual std::string_view path() const noexcept = 0;  // as sent, without the query
  [[nodiscard]] virtual std::string_view uri() const noexcept = 0;   // with it
  [[nodiscard]] virtual std::string_view host() const noexcept = 0;  // and port, as sent

 protected:
  ~Facts() = default;
};

// A compiled regular expression; the engine lives outside. Threads: any.
class Pattern {
 public:
  virtual ~Pattern() = default;
  [[nodiscard]] virtual bool matches(std::string_view whole) const noexcept = 0;
};
using MakePattern = base::Result<std::unique_ptr<const Pattern>> (*)(std::string_view text);

}  // namespace steelyard::request
