// Drivers: all drivers of a process, made from the upstreams' options, fed from the Table.
//
// Upstreams that drive the same Nginx (same pid file) share one lane: their changes join into one
// test and one reload, one at a time, no closer than `gap`; an upstream that spoils the test is put
// back alone and the others apply. `configure` is for start and reload alike: all or nothing,
// unchanged lanes go on undisturbed, the file of an upstream that left is removed. Destroying it
// stops at once and touches nothing; the next start finds what was unfinished and repairs it.
//
// Threads: control. Borrows the reactor and events, which outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/apply/driver.h"
#include "steelyard/apply/options.h"
#include "steelyard/base/result.h"
#include "steelyard/io/reactor.h"
#include "steelyard/model/table.h"

namespace steelyard::apply {

class Drivers {
 public:
  struct Target {
    std::string upstream;
    ApplyOptions options;
  };

  Drivers(io::Reactor& reactor, Events& events);
  ~Drivers();
  Drivers(const Drivers&) = delete;
  Drivers& operator=(const Drivers&) = delete;

  // Whether `configure` would take them.
  [[nodiscard]] static base::Result<void> check(const std::vector<Target>& targets);
  // Errors: an upstream or a file named twice, two upstreams of one Nginx that differ in what they
  // must share (test, reload, gap, timeouts). Then nothing has changed.
  base::Result<void> configure(const std::vector<Target>& targets);
  void want(const model::Table& table);  // upstreams without a driver are skipped
  [[nodiscard]] Driver* find(std::string_view upstream) noexcept;
  [[nodiscard]] std::vector<Status> statuses() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace steelyard::apply
