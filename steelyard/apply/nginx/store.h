// The files of a machine's targets: does the file actions (lock, check, load, look, mark …
// release).
//
// Beside FILE lie `.FILE.steelyard.lock`, `.prev` and `.good` (names that no include pattern of
// Nginx takes: they begin with a dot and do not end in .conf). Every write is whole or not there,
// after a crash too (io/file.h), but for in_place. A file that we did not write is never written
// over or removed. Blocks on the disk; one caller at a time, any thread.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "steelyard/apply/nginx/machine.h"
#include "steelyard/io/file.h"

namespace steelyard::apply::nginx {

class Store {
 public:
  void add(const std::string& file, bool in_place) { targets_[file].in_place = in_place; }
  [[nodiscard]] Outcome perform(const Action& action);

  [[nodiscard]] static std::string beside(const std::string& file, std::string_view what);

 private:
  struct Files {
    bool in_place = false;
    std::optional<io::LockFile> lock;
    std::optional<io::StagedFile> staged;
  };
  Outcome check(const std::string& file, const Files& files);
  Outcome lock(const std::string& file, Files& files);
  Outcome load(const std::string& file);
  Outcome install(const Action& action, Files& files);
  Outcome undo(const Action& action, Files& files);

  std::map<std::string, Files> targets_;
};

}  // namespace steelyard::apply::nginx
