#include "steelyard/pick/table.h"

#include <cassert>
#include <utility>

namespace steelyard::pick {

std::unique_ptr<const Table> Table::make(std::shared_ptr<const model::Table> model,
                                         std::vector<const Kind*> kinds) {
  assert(model != nullptr && kinds.size() == model->upstreams.size());
  auto out = std::make_unique<Table>();
  out->pickers.reserve(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i)
    out->pickers.push_back(kinds[i]->make(model->upstreams[i]));
  out->model = std::move(model);
  out->kinds = std::move(kinds);
  return out;
}

}  // namespace steelyard::pick
