// Asks one controller of the registry about hand-made observations.
#pragma once

#include <memory>
#include <vector>

#include "steelyard/model/observation.h"
#include "steelyard/weigh/controller.h"

namespace steelyard::weigh {

class Asked {
 public:
  explicit Asked(std::unique_ptr<Controller> controller) : law(std::move(controller)) {}

  const std::vector<Wish>& ask(const std::vector<double>& bases,
                               const std::vector<model::Observation>& seen, base::TimePoint now) {
    std::vector<View> views;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      views.push_back({{static_cast<std::uint32_t>(i), 1}, bases[i], &seen[i], true});
    }
    wishes.assign(seen.size(), Wish{});
    law->wish(views, now, wishes);
    return wishes;
  }

  std::unique_ptr<Controller> law;
  std::vector<Wish> wishes;
};

}  // namespace steelyard::weigh
