// Split: which of a route's upstreams takes a request, by weight, at random or by the request's
// key.
//
// By key it is weighted rendezvous: the upstream with the greatest −weight / ln(u), where u in (0,
// 1) is the hash of key and upstream name. The same key goes to the same upstream in every process
// and order of writing; a change of weights moves only the requests that an upstream gains or
// loses.
//
// Source: Wang, Ravishankar, Schroedl's weighted rendezvous. Cost: O(upstreams); a logarithm each
// by key, one draw at random. Immutable. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "steelyard/base/rng.h"
#include "steelyard/request/key.h"
#include "steelyard/request/options.h"

namespace steelyard::request {

class Split {
 public:
  Split() = default;  // empty: the route has one upstream
  // `by` as in the options, valid. Weights are those of the parts in order, their sum above 0.
  Split(std::span<const SplitOptions> parts, std::string_view by);

  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  [[nodiscard]] const KeySource& source() const noexcept { return source_; }
  // Place of the part that takes it.
  [[nodiscard]] std::size_t choose(std::optional<std::uint64_t> key, base::Rng& rng) const noexcept;

 private:
  struct Part {
    double weight;
    std::uint64_t name;  // hash
  };
  std::vector<Part> parts_;
  KeySource source_;
  double total_ = 0;
};

}  // namespace steelyard::request
