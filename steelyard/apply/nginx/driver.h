// The driver of one upstream's Nginx file: plans the file, hands it to its lane, tells the status.
//
// A plan that must not be written (a hostile name, a weight that is no number) stays out: the last
// good file stays, and the status says why. So does one in which no node may take traffic.
// Threads: control. Borrows the lane.
#pragma once

#include <optional>
#include <string>

#include "steelyard/apply/driver.h"
#include "steelyard/apply/nginx/lane.h"
#include "steelyard/apply/options.h"

namespace steelyard::apply::nginx {

// The status of one target as its lane sees it, without what only its driver knows.
[[nodiscard]] Status lane_status(const Lane& lane, const Target& target);

class NginxDriver final : public Driver {
 public:
  NginxDriver(Lane& lane, Events& events, std::string upstream, NginxOptions options);

  void want(const model::TableUpstream& upstream, std::uint64_t table) override;
  void resume() override { lane_.resume(options_.file); }
  [[nodiscard]] Status status() const override;

  [[nodiscard]] Lane& lane() noexcept { return lane_; }
  [[nodiscard]] const NginxOptions& options() const noexcept { return options_; }

 private:
  void kept(std::string why);

  Lane& lane_;
  Events& events_;
  std::string upstream_;
  NginxOptions options_;
  std::optional<model::TableUpstream> wanted_;
  std::uint64_t table_ = 0;
  std::string kept_;  // why the last good file stays
};

}  // namespace steelyard::apply::nginx
