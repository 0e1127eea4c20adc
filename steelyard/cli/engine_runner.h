// EngineRunner: an Engine as a process sees it: what its signals and its supervisor's messages
// mean, reloads, and the loop's pulse.
//
//   HUP reload · TERM, INT drain and stop, a second time stop now · QUIT drain without limit ·
//   USR1 reopen log files · USR2 is told to be of no use here
//
// Reloads join: at most one in 100 ms, the last file wins. Reading, checking and planning a
// configuration is done aside, so its size does not stop the loop; what is asked for meanwhile is
// done after it, and memory that was freed is given back aside too (give_back.h). An engine in the
// place of one that crashed runs what that one had taken, whatever became of the file since.
// Control thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "steelyard/cli/aside.h"
#include "steelyard/cli/command.h"
#include "steelyard/cli/engine.h"
#include "steelyard/cli/give_back.h"
#include "steelyard/cli/log.h"
#include "steelyard/cli/running_config.h"
#include "steelyard/io/provider.h"
#include "steelyard/io/reactor.h"
#include "steelyard/io/remote_provider.h"

namespace steelyard::cli {

class EngineRunner {
 public:
  // `remote` is the provider again, when it belongs to a supervisor; else null.
  EngineRunner(const RunFlags& flags, io::Reactor& reactor, io::Provider& provider,
               io::RemoteProvider* remote);

  // Loads, starts, and runs until it has stopped; the exit code. What is wrong is on stderr.
  int run();

 private:
  static constexpr auto kSameSignal = std::chrono::seconds(1);  // within it two are one
  base::Result<void> start(const std::shared_ptr<const config::Document>& document);
  int not_started(std::string_view text, std::string_view why = {});
  void after_turn();
  void look_at_memory(base::TimePoint now);
  void on_own_signal(int number);
  void on_signal(int number);
  void ignore(int number, std::string_view text);
  void on_message(const io::Message& message);
  void on_lost();
  void serve_alone();
  void settle_lease();
  void hand_over(const std::vector<base::Address>& theirs);
  void tell_holding();
  [[nodiscard]] Source first_source();
  struct Loaded;  // what a reload wants to take
  [[nodiscard]] bool may_reload() const;
  void begin_reload();
  void finish_reload(const Loaded& loaded);
  void refuse(const Source& source);
  void judge_file();
  void stop(base::Duration limit);
  [[nodiscard]] base::Result<void> check_descriptors(unsigned long limit);
  void tell_fixed(const config::Document& document);
  void tell_end();

  RunFlags flags_;
  io::Reactor& reactor_;
  io::Provider& provider_;
  io::RemoteProvider* remote_;
  Log log_;
  RunningConfig config_;
  Engine engine_;
  std::shared_ptr<const config::Document> document_;
  std::shared_ptr<const config::Document> started_;  // the first
  base::Address admin_;
  base::TimePoint next_holding_{};
  base::TimePoint next_reload_{};
  GiveBack memory_;
  base::TimePoint next_memory_{};
  bool began_with_kept_ = false;
  bool stopping_ = false;
  base::TimePoint asked_to_stop_{};  // by a signal
  int passed_over_ = 0;              // the last signal that was the supervisor's business
  base::TimePoint passed_over_at_{};
  bool reload_wanted_ = false;
  bool lost_ = false;       // as far as it was said
  bool unsettled_ = false;  // lost without the lease: who goes on is not decided
  Aside aside_;             // last: its thread ends first
};

}  // namespace steelyard::cli
