// A rig whose exchanges are lines of an access log.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "steelyard/io/clock.h"
#include "steelyard/io/file.h"
#include "steelyard/proxy/access_log.h"

#include "test/io/scratch.h"
#include "test/proxy/sim_rig.h"

namespace steelyard::proxy::testing {

struct Files {
  io::Scratch scratch;
  std::string path = scratch / "access.log";
};

inline bool wait_for(const std::function<bool()>& done) {
  const auto limit = io::steady_now() + 10s;
  while (io::steady_now() < limit) {
    if (done()) return true;
    std::this_thread::yield();
  }
  return done();
}

struct Logged {
  explicit Logged(std::string_view format, SimRig::Setup setup = {}) {
    EXPECT_TRUE(log.configure({files.path, std::string(format), 1}));
    setup.options.log.file = files.path;
    setup.options.log.format = format;
    setup.access = &log.ring(0);
    rig.emplace(std::move(setup));
  }
  std::string lines(std::uint64_t count) {
    EXPECT_TRUE(rig->until([&] { return log.ring(0).noted() == count; }));
    EXPECT_TRUE(wait_for([&] { return log.lines() == count; }));
    return *io::read_file(files.path);
  }
  Files files;
  AccessLog log{1};
  std::optional<SimRig> rig;
};

}  // namespace steelyard::proxy::testing
