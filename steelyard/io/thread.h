// Thread: a named thread that is joined when its owner dies. The only place that starts threads.
//
// All signals but faults are blocked in it, so that signals reach only who asks for them
// (signal.h). What it runs must end by itself or be told to (a posted Task); the destructor waits.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "steelyard/base/result.h"

namespace steelyard::io {

class Thread {
 public:
  Thread() = default;
  // The name shows in ps and gdb, cut to 15 bytes. Fails when the system has no room for a thread.
  [[nodiscard]] static base::Result<Thread> start(const std::string& name,
                                                  std::function<void()> work);
  // For where that ends the program: throws std::system_error.
  Thread(const std::string& name, std::function<void()> work);
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&&) = delete;
  ~Thread() { join(); }

  void join();
  [[nodiscard]] bool running() const noexcept { return thread_.joinable(); }

 private:
  std::thread thread_;
};

// Names the calling thread.
void name_this_thread(const std::string& name);
// Processors this process may run on, at least 1.
[[nodiscard]] unsigned usable_processors();

}  // namespace steelyard::io
