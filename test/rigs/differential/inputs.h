// Inputs of the comparison: mutations of valid requests and of the cases, from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "steelyard/base/rng.h"

namespace steelyard::rigs {

class Inputs {
 public:
  Inputs(std::uint64_t seed, const std::string& cases);
  [[nodiscard]] std::string next();

 private:
  void mutate(std::string& text);

  base::Rng rng_;
  std::vector<std::string> seeds_;
};

}  // namespace steelyard::rigs
