// Maglev: a key goes to the node in its place of a table of a fixed size.
//
// The table is maglev_table.h's, over the names and weights of the nodes in rotation; it spreads
// keys within a percent where a ring is off by a tenth, and pays with keys that move between nodes
// that stay when others come or go, or weights change: 0.6 % for one of 100. While a node cannot be
// taken its key looks at other places, then a draw decides (keyed.h).
//
// Cost: a hash and one place in memory; to make O(size log size), off the request path. Shares:
// places / size. Immutable, shared by all workers.
#pragma once

#include <cstdint>
#include <tuple>

#include "steelyard/pick/keyed.h"
#include "steelyard/pick/maglev_table.h"
#include "steelyard/schema/field.h"

namespace steelyard::pick {

struct MaglevOptions {
  bool large = false;
  KeyedOptions keyed;
  static constexpr auto fields() {
    return std::tuple{
        schema::field("large", &MaglevOptions::large,
                      "A table of 655,373 places in place of 65,537, for more than some 600 "
                      "nodes."),
        schema::splice(&MaglevOptions::keyed)};
  }
};

class Maglev final : public Keyed {
 public:
  explicit Maglev(const model::TableUpstream& upstream, const MaglevOptions& options = {});

 private:
  Maglev(const model::TableUpstream& upstream, const Candidates& candidates,
         const MaglevOptions& options);
  [[nodiscard]] std::optional<Position> find(std::uint64_t number,
                                             const Takes& takes) const noexcept override;
  [[nodiscard]] std::vector<double> shares() const override;

  std::vector<Position> by_name_;  // the table's owners; so the order of the list is nothing to it
  MaglevTable table_;
};

}  // namespace steelyard::pick
