#include "steelyard/pick/cursors.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace steelyard::pick {

void Cursors::adopt(const Table& table, base::Rng& rng) {
  auto before = std::exchange(entries_, {});
  std::sort(before.begin(), before.end(),
            [](const Entry& a, const Entry& b) { return a.upstream < b.upstream; });
  entries_.reserve(table.pickers.size());
  for (std::size_t i = 0; i < table.pickers.size(); ++i) {
    const std::string& name = table.model->upstreams[i].name;
    const auto known = std::lower_bound(
        before.begin(), before.end(), name,
        [](const Entry& entry, const std::string& wanted) { return entry.upstream < wanted; });
    Entry entry{.upstream = name, .kind = table.kinds[i], .cursor = nullptr};
    if (known != before.end() && known->upstream == name && known->kind == entry.kind) {
      entry.cursor = std::move(known->cursor);
      table.pickers[i]->adopt(*entry.cursor);
    } else {
      entry.cursor = table.pickers[i]->make_cursor(rng);
    }
    entries_.push_back(std::move(entry));
  }
}

std::optional<Index> Cursors::pick(const Table& table, std::size_t upstream, const Input& in,
                                   base::Rng& rng) noexcept {
  assert(upstream < entries_.size() && entries_[upstream].kind == table.kinds[upstream]);
  return table.pickers[upstream]->pick(in, *entries_[upstream].cursor, rng);
}

}  // namespace steelyard::pick
