#include "steelyard/pick/table.h"

#include <cassert>
#include <utility>

namespace steelyard::pick {

std::unique_ptr<const Table> Table::make(std::shared_ptr<const model::Table> model,
                                         const std::vector<Chosen>& chosen) {
  assert(model != nullptr && chosen.size() == model->upstreams.size());
  auto out = std::make_unique<Table>();
  out->kinds.reserve(chosen.size());
  out->pickers.reserve(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    out->kinds.push_back(chosen[i].kind);
    out->pickers.push_back(chosen[i].kind->make(model->upstreams[i], chosen[i].options));
  }
  out->model = std::move(model);
  return out;
}

}  // namespace steelyard::pick
