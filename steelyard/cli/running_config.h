// RunningConfig: the configuration that is in force, as text, and how it differs from its file.
//
// The text is kept with the supervisor (`record`), so that an engine which replaces one that
// crashed runs the same again, even when the file has been broken, removed or changed since. A
// configuration is one text: it includes nothing and names no file that would have to be read with
// it. What it names is written (log, Nginx file) or seen anew by each engine (addresses, programs).
//
// `look` reads the file, so it blocks: at a start, a reload, and when a person asks. Control
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "steelyard/cli/source.h"

namespace steelyard::cli {

class RunningConfig {
 public:
  struct Kept {
    std::string name;
    std::string text;
    std::int64_t taken = 0;  // Unix time
  };

  // In force from now. From flags, without a file: nothing is kept and nothing can differ.
  void took(const Source& source, std::int64_t when);
  [[nodiscard]] std::string record() const;  // empty: from flags
  [[nodiscard]] static std::optional<Kept> kept(std::string_view record);

  // How the file differs, for people; empty: it says what runs.
  const std::string& look();
  // As it was last looked at, a reload could not take the file.
  [[nodiscard]] bool file_unusable() const noexcept { return unusable_; }
  // The file was read well, but the engine could not take it.
  void refused(std::string_view reason);
  [[nodiscard]] const std::string& difference() const noexcept { return difference_; }
  // "file:line:column: " of a key, for messages; empty: from flags.
  [[nodiscard]] std::string place_of(std::string_view key) const;
  [[nodiscard]] const std::string& file() const noexcept { return running_.name; }
  [[nodiscard]] std::int64_t taken() const noexcept { return running_.taken; }
  [[nodiscard]] const std::string& sha256() const noexcept { return sha256_; }  // empty: from flags

 private:
  Kept running_;
  std::string sha256_;
  std::string difference_;
  bool unusable_ = false;
  std::string refused_text_;  // of the file that could not be taken …
  std::string refused_why_;
};

}  // namespace steelyard::cli
