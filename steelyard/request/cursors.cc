#include "steelyard/request/cursors.h"

#include <algorithm>

namespace steelyard::request {

void Cursors::adopt(const pick::Table& table, base::Rng& rng) {
  std::vector<Entry> next;
  next.reserve(table.pickers.size());
  for (std::size_t i = 0; i < table.pickers.size(); ++i) {
    Entry entry{table.model->upstreams[i].name, table.kinds[i], nullptr};
    const auto had = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
      return e.upstream == entry.upstream && e.kind == entry.kind && e.cursor != nullptr;
    });
    entry.cursor =
        had != entries_.end() ? std::move(had->cursor) : table.pickers[i]->make_cursor(rng);
    table.pickers[i]->adopt(*entry.cursor);
    next.push_back(std::move(entry));
  }
  entries_ = std::move(next);
}

}  // namespace steelyard::request
