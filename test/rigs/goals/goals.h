// The measurable goals of HTTP/1: each is a function that runs its own nodes, clients and proxies
// and says what it measured beside its marks.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace steelyard::rigs {

struct Settings {
  std::string binary;
  std::vector<std::string> io;  // `--io X`, or nothing
  int rounds = 7;               // of comparisons
  double idle_s = 60;           // that idle clients are held
  std::uint64_t requests = 6'000'000;
};

class Goal {
 public:
  Goal(std::string id, std::string what) : id_(std::move(id)), what_(std::move(what)) {}

  // A figure that must not be above (below) its mark. `quiet`: it means nothing when others used
  // the processors meanwhile, well or badly; the others count as met when they are met in spite
  // of that.
  enum class Needs { kNothing, kQuiet };
  void at_most(const std::string& name, double value, double mark, const std::string& unit,
               Needs needs = Needs::kNothing);
  void at_least(const std::string& name, double value, double mark, const std::string& unit,
                Needs needs = Needs::kNothing);
  // Beside the marks.
  void note(const std::string& text) { notes_.push_back(text); }
  // It could not be measured at all: a miss.
  void broken(const std::string& why) { broken_ = why; }
  // Others used that share of a processor meanwhile; above kMostOthers the run is disturbed.
  void others(double share) { others_ = share; }
  static constexpr double kMostOthers = 0.12;

  [[nodiscard]] std::string verdict() const;  // pass, FAIL, void
  [[nodiscard]] std::string line() const;
  [[nodiscard]] nlohmann::json json() const;

 private:
  struct Part {
    std::string name, unit;
    double value, mark;
    bool met, below;
    Needs needs;
  };
  std::string id_, what_, broken_;
  std::vector<Part> parts_;
  std::vector<std::string> notes_;
  double others_ = 0;
};

Goal added_latency(const Settings& settings);    // L3
Goal new_connections(const Settings& settings);  // L4
Goal idle_clients(const Settings& settings);     // L5
Goal large_bodies(const Settings& settings);     // L6
Goal overload(const Settings& settings);         // L7
Goal no_wrong_answer(const Settings& settings);  // L10

}  // namespace steelyard::rigs
