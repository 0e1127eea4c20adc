// RunningConfig: the configuration that is in force, as text, and how it differs from its file.
//
// The text is kept with the supervisor (`record`), so that an engine which replaces one that
// crashed runs the same again, even when the file has been broken, removed or changed since. A
// configuration is one text: it includes nothing and names no file that would have to be read with
// it. What it names is written (log, Nginx file) or seen anew by each engine (addresses, programs).
//
// `look` reads the file, of bounded size, and compares: at a start, a reload, and when a person
// asks. Whether a text that differs could be taken is judged once, by `judge`, which takes as long
// as a reload and may run on any thread; the rest on the control thread.
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

  // What is to be said of a text other than the one in force.
  struct Verdict {
    std::string text;
    std::string difference;
    bool unusable = false;
  };
  [[nodiscard]] static Verdict judge(const std::string& name, std::string text);
  // The same of a text that has been loaded.
  [[nodiscard]] static Verdict verdict_of(const Source& source);

  // How the file differs, for people; empty: it says what runs.
  const std::string& look();
  // The text that was last looked at, when it still has to be judged; null: it has not.
  [[nodiscard]] const std::string* unjudged() const noexcept;
  void judged(Verdict verdict);
  // As it was last looked at, a reload could not take the file.
  [[nodiscard]] bool file_unusable() const noexcept { return unusable_; }
  // The text was read well, but the engine could not take it.
  void refused(const Source& source, std::string_view reason);
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
  std::optional<std::string> unjudged_;
  std::optional<Verdict> verdict_;  // the last: of a text that is the file's, or was
};

}  // namespace steelyard::cli
