// The picker's contract. A picker chooses a node for one attempt; it is prepared once a Table and
// picks without allocation, lock, clock or log.
//
// Three parts, by lifetime:
//   Picker        immutable, prepared by control from one upstream of one Table; shared by all
//   workers; dies with the Table. Cursor        what a picker moves (a rotation, a probe pool):
//   belongs to one worker and upstream, survives Tables. Input, Rng    the request's.
// `adopt` is called by the worker once for each new Table before its first pick, to carry the
// Cursor over to the new node list (by NodeRef, never by position): a new Table must not restart a
// rotation. `make_cursor` starts at a random phase, so that workers are out of step; a test fixes
// the phase by fixing the seed. `pick` gives an index into the upstream's `nodes`, or nothing when
// no node is pickable. It never gives a node that is not in rotation (model::in_rotation) or not
// pickable (model::pickable). It does not reserve: the caller takes the InFlight and asks again
// with the node in `tried` when the reservation fails.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "steelyard/base/hash.h"
#include "steelyard/base/rng.h"
#include "steelyard/model/slots.h"
#include "steelyard/model/table.h"

namespace steelyard::pick {

using Index = std::uint32_t;

struct Input {
  const model::Slots& slots;
  std::span<const model::NodeRef> tried;  // nodes this exchange has used already
  // Picker::number of the request's key, for the kinds that are keyed; nothing: it has none, and
  // they pick by weight as if it had any.
  std::optional<std::uint64_t> key;
};

class Cursor {
 public:
  virtual ~Cursor() = default;
};

class Picker {
 public:
  virtual ~Picker() = default;
  [[nodiscard]] virtual std::unique_ptr<Cursor> make_cursor(base::Rng& rng) const = 0;
  virtual void adopt(Cursor& cursor) const = 0;  // may allocate; not on the request path
  [[nodiscard]] virtual std::optional<Index> pick(const Input& in, Cursor& cursor,
                                                  base::Rng& rng) const noexcept = 0;
  // Where a key stands for this picker: a hash. Pure; O(length).
  [[nodiscard]] virtual std::uint64_t number(std::string_view key) const noexcept {
    return base::xxh3(key);
  }
  // The part of the picks that this node gets while all are idle and can be taken. Nothing: weight
  // / sum of weights, or 1/n for a Kind that is not weighted. Not for the request path.
  [[nodiscard]] virtual std::optional<double> share(Index /*node*/) const noexcept {
    return std::nullopt;
  }
};

}  // namespace steelyard::pick
