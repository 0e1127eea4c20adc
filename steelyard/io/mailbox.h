// Mailbox: tasks from any thread to the one that owns it, in order; the reactor's `post`.
//
// `put` says whether the owner must be woken: only for the first task since the last `take`, so
// wake-ups coalesce.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "steelyard/io/reactor.h"

namespace steelyard::io {

class Mailbox {
 public:
  // Any thread.
  [[nodiscard]] bool put(std::unique_ptr<Task> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    return tasks_.size() == 1;
  }
  // The owner: exchanges its empty vector for what has come.
  void take(std::vector<std::unique_ptr<Task>>& into) {
    into.clear();
    const std::lock_guard lock(mutex_);
    into.swap(tasks_);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace steelyard::io
