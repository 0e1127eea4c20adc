// A fluid model of an upstream: nodes with cores, a constant load of `rho` of all cores, and
// background use on some. Utilisation of a node = its share × load / its cores + its background.
#pragma once

#include <algorithm>
#include <vector>

namespace steelyard::weigh {

struct Fluid {
  std::vector<double> cores = {8, 8, 4, 4, 2};
  std::vector<double> background = {0, 0, 0, 0, 0};
  double rho = 0.5;

  [[nodiscard]] std::vector<double> rates(const std::vector<double>& weights) const {
    double load = 0;
    double sum = 0;
    for (const double c : cores) load += rho * c;
    for (const double w : weights) sum += w;
    std::vector<double> out;
    for (const double w : weights) out.push_back(load * w / sum);
    return out;
  }
  [[nodiscard]] std::vector<double> utilisations(const std::vector<double>& weights) const {
    std::vector<double> out = rates(weights);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = out[i] / cores[i] + background[i];
    return out;
  }
  [[nodiscard]] double unevenness(
      const std::vector<double>& weights) const {  // max/avg utilisation
    const auto used = utilisations(weights);
    double sum = 0;
    for (const double u : used) sum += u;
    return *std::max_element(used.begin(), used.end()) / (sum / static_cast<double>(used.size()));
  }
};

}  // namespace steelyard::weigh
