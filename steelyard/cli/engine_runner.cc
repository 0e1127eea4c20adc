#include "steelyard/cli/engine_runner.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/format.h>

#include "steelyard/cli/engine_setup.h"
#include "steelyard/cli/kept_settings.h"
#include "steelyard/cli/no_supervisor.h"
#include "steelyard/cli/pool.h"
#include "steelyard/cli/source.h"
#include "steelyard/cli/version.h"
#include "steelyard/io/clock.h"
#include "steelyard/io/crypto.h"
#include "steelyard/io/memory.h"
#include "steelyard/io/process.h"
#include "steelyard/io/signal.h"

namespace steelyard::cli {
namespace {

constexpr auto kReloadGap = std::chrono::milliseconds(100);
constexpr auto kForever = std::chrono::hours(24 * 365);
constexpr auto kLongestWait = std::chrono::seconds(1);  // so that an idle loop beats too
constexpr auto kLeaseLook = std::chrono::milliseconds(20);
constexpr auto kMemoryLook = std::chrono::seconds(1);

std::shared_ptr<const config::Document> with_flags(
    const std::shared_ptr<const config::Document>& document, const RunFlags& flags,
    const base::Address& admin) {
  auto changed = std::make_shared<config::Document>(*document);
  if (flags.workers != 0) changed->proxy.workers = flags.workers;
  if (flags.io) changed->proxy.io = *flags.io;
  if (admin.valid()) changed->admin.address = admin;
  return changed;
}

Aside::Outcome give_back() {
  io::give_back_memory();
  return [] {};
}

}  // namespace

EngineRunner::EngineRunner(const RunFlags& flags, io::Reactor& reactor, io::Provider& provider,
                           io::RemoteProvider* remote)
    : flags_(flags),
      reactor_(reactor),
      provider_(provider),
      remote_(remote),
      log_(2),
      engine_(reactor, provider, log_,
              {.seed = io::random_seed(),
               .version = std::string(kVersion),
               .revision = std::string(kRevision),
               .config = &config_}),
      aside_(reactor) {}

int EngineRunner::run() {
  io::limit_kept_memory();
  const Source source = first_source();
  if (!source.report.empty()) fmt::print(stderr, "{}", source.report);
  if (source.document == nullptr) {
    return not_started(fmt::format("not started: {} cannot be used", source.name),
                       first_error(source));
  }
  if (!flags_.admin.empty()) {
    auto parsed = base::Address::parse(flags_.admin, /*any=*/true);
    if (!parsed) return not_started("--admin " + parsed.error().text);
    if (!parsed->is_loopback()) return not_started("--admin: " + flags_.admin + " is not loopback");
    admin_ = *parsed;
  }
  // Before anything is served: it needs descriptors too.
  const auto signals = io::watch_signals(reactor_, [this](int number) { on_own_signal(number); });
  if (!signals) return not_started("not started: " + signals.error().describe());
  if (auto started = start(source.document); !started) {
    return not_started(started.error().describe());
  }
  provider_.keep_config(config_.record());
  if (began_with_kept_ && !config_.look().empty()) {
    // Nothing is watched yet that this could keep.
    if (const auto* const text = config_.unjudged(); text != nullptr) {
      config_.judged(RunningConfig::judge(config_.file(), *text));
    }
    if (config_.file_unusable()) engine_.began_without_file();
    log_.event("config_kept", {{"file", source.name},
                               {"difference", config_.difference()},
                               {"text",
                                "after a crash the engine runs what it had taken, not the file; "
                                "HUP reads the file"}});
  }
  io::Beating beating(provider_.pulse(0));
  while (!engine_.stopped()) {
    beating.beat();
    reactor_.run_turn(reactor_.now() + (unsettled_ ? base::Duration(kLeaseLook) : kLongestWait));
    after_turn();
  }
  tell_end();
  return kOk;
}

// `why` is for the supervisor, where stderr has it already.
int EngineRunner::not_started(std::string_view text, std::string_view why) {
  fmt::print(stderr, "steelyard: {}\n", text);
  if (remote_ != nullptr) remote_->not_started(why.empty() ? text : why);
  return kFailure;
}

// What the engine before had taken, when this one replaces one that crashed; else what the flags
// name.
Source EngineRunner::first_source() {
  if (remote_ != nullptr && remote_->replaces_dead()) {
    if (auto kept = RunningConfig::kept(remote_->kept_config())) {
      Source source = load_text(kept->name, std::move(kept->text));
      source.report.clear();  // its warnings were told when it was taken
      if (source.document != nullptr) {
        config_.took(source, kept->taken);
        began_with_kept_ = true;
        return source;
      }
      log_.event("config_not_kept", {{"reason", "this program does not take it any more"}});
    }
  }
  Source source = load_source(flags_.config);
  if (source.document != nullptr) config_.took(source, io::unix_now());
  return source;
}

base::Result<void> EngineRunner::start(const std::shared_ptr<const config::Document>& document) {
  document_ = started_ = with_flags(document, flags_, admin_);
  if (auto enough = check_descriptors(io::raise_descriptor_limit()); !enough) return enough;
  if (!document_->pid_file.empty()) {
    if (auto claimed = provider_.claim_pid_file(document_->pid_file); !claimed) {
      auto error = claimed.error();
      error.text = config_.place_of("pid_file") + error.text;
      return error;
    }
  }
  if (auto started = engine_.start(document_); !started) return started;
  for (const auto& address : engine_.listeners()) {
    log_.event("listening", {{"address", address.to_text()}});
  }
  memory_.read(reactor_.now());
  log_.event("admin", {{"url", fmt::format("http://{}/", engine_.admin_address().to_text())}});
  return {};
}

void EngineRunner::after_turn() {
  if (remote_ != nullptr) {
    while (const auto message = remote_->next()) on_message(*message);
    if (remote_->lost() != lost_) on_lost();
    if (unsettled_) settle_lease();
    if (stopping_) tell_holding();
  }
  const auto now = reactor_.now();
  look_at_memory(now);
  if (aside_.busy()) return;
  if (reload_wanted_ && may_reload() && now >= next_reload_) {
    reload_wanted_ = false;
    next_reload_ = now + kReloadGap;
    begin_reload();
  } else if (memory_.due(now)) {
    memory_.given(now, engine_.keeps_old());
    (void)aside_.run(give_back);  // no room for a thread: the next reload's will do
  } else {
    judge_file();
  }
}

// What workers freed, the C library keeps.
void EngineRunner::look_at_memory(base::TimePoint now) {
  if (now < next_memory_) return;
  next_memory_ = now + kMemoryLook;
  (void)reactor_.trim(/*second=*/true);
  memory_.freed(engine_.trimmed(), now);
}

// A service manager may signal all processes of a service; what ends it is the supervisor's word.
void EngineRunner::on_own_signal(int number) {
  const bool ends = number == SIGTERM || number == SIGINT || number == SIGQUIT;
  if ((!ends && number != SIGUSR2) || remote_ == nullptr || lost_) return on_signal(number);
  if (!ends) return ignore(number, "upgrade the supervisor, which is this engine's parent");
  passed_over_ = number;
  passed_over_at_ = reactor_.now();
  ignore(number, "stop the supervisor, which is this engine's parent");
}

void EngineRunner::ignore(int number, std::string_view text) {
  const char* const name = ::sigabbrev_np(number);
  log_.event("signal_ignored", {{"number", fmt::format("{}", number)},
                                {"signal", name != nullptr ? name : "unknown"},
                                {"text", text}});
}

void EngineRunner::on_signal(int number) {
  switch (number) {
    case SIGHUP:
      reload_wanted_ = true;
      return;
    case SIGTERM:
    case SIGINT:
      return stop(document_->proxy.drain.limit);
    case SIGQUIT:
      return stop(kForever);
    case SIGUSR1:
      return engine_.reopen_logs();
    default:  // USR2
      return ignore(number, remote_ == nullptr ? kUpgradeSingle : kUpgradeLost);
  }
}

void EngineRunner::on_message(const io::Message& message) {
  switch (message.verb) {
    case io::Verb::kSignal:
      return on_signal(static_cast<int>(message.number));
    case io::Verb::kGiveBack:
      engine_.give_back();
      return remote_->gave_back();
    case io::Verb::kLease:
      if (!remote_->take_lease()) {  // a supervisor never does that
        return log_.event("lease_refused", {{"text", "another engine holds it"}});
      }
      log_.event("lease_back", {{"text", "this engine goes on"}});
      return engine_.take_back();
    case io::Verb::kHandOver:
      return hand_over(io::addresses_of(message.text));
    default:
      return;
  }
}

struct EngineRunner::Loaded {
  Source source;
  Engine::Plan plan;  // without a Document: the source says why
};

bool EngineRunner::may_reload() const {
  return !stopping_ && engine_.leased() && engine_.settled();
}

void EngineRunner::begin_reload() {
  auto started = aside_.run([this, flags = flags_, admin = admin_, plan = engine_.planner()] {
    auto loaded = std::make_shared<Loaded>(Loaded{load_source(flags.config), {}});
    if (loaded->source.document != nullptr) {
      loaded->plan = plan(with_flags(loaded->source.document, flags, admin));
    }
    return [this, loaded] { finish_reload(*loaded); };
  });
  if (started) return;
  engine_.reload_failed();
  log_.event("reload_refused", {{"file", config_.file()}, {"reason", started.error().describe()}});
}

void EngineRunner::finish_reload(const Loaded& loaded) {
  const Source& source = loaded.source;
  memory_.read(reactor_.now());
  if (!may_reload()) {
    reload_wanted_ = true;  // for when this engine goes on after all
    return;
  }
  if (source.document == nullptr) return refuse(source);
  if (!source.report.empty()) fmt::print(stderr, "{}", source.report);
  const auto& document = loaded.plan.document;
  tell_fixed(*document);
  if (auto done = engine_.reload(loaded.plan); !done) {
    config_.refused(source, done.error().describe());
    return log_.event("reload_refused",
                      {{"file", source.name}, {"reason", done.error().describe()}});
  }
  document_ = document;
  config_.took(source, io::unix_now());
  provider_.keep_config(config_.record());
  log_.event("reloaded", {{"file", source.name}});
}

void EngineRunner::refuse(const Source& source) {
  engine_.reload_failed();
  if (source.text.empty()) {
    (void)config_.look();
  } else {
    config_.judged(RunningConfig::verdict_of(source));
  }
  // The first error is the event's reason; the other lines stand as they are.
  const std::string_view all = source.report;
  const auto reason = first_error(source);
  const auto from = static_cast<std::size_t>(reason.data() - all.data());
  log_.event("reload_refused", {{"file", source.name}, {"reason", reason}});
  const auto others = all.substr(std::min(from + reason.size() + 1, all.size()));
  if (all.size() > reason.size() + 1) fmt::print(stderr, "{}{}", all.substr(0, from), others);
}

// A text that somebody asked about and that nobody has judged.
void EngineRunner::judge_file() {
  const auto* const text = config_.unjudged();
  if (text == nullptr) return;
  (void)aside_.run([this, name = config_.file(), text = *text] {
    auto verdict = RunningConfig::judge(name, text);
    return [this, verdict = std::move(verdict)] {
      config_.judged(verdict);
      memory_.read(reactor_.now());
    };
  });  // no room for a thread: it stays as it was said, until the next turn
}

// Each client may take two descriptors: its own and one to a node. On an ordinary machine they are
// fewer than the default wants and enough all the same, so that is told only to who set a number.
base::Result<void> EngineRunner::check_descriptors(unsigned long limit) {
  constexpr std::uint32_t kPlenty = 4096;
  const auto& proxy = document_->proxy;
  const auto workers = workers_of(*document_);
  if (const auto least = least_descriptors(*document_, workers); limit < least) {
    return base::Error{
        base::Code::kLimit, base::Origin::kOperator, false,
        fmt::format("not started: {} open files are allowed, at least {} are needed for {} "
                    "listeners with {} workers; raise the limit (ulimit -n, LimitNOFILE)",
                    limit, least, document_->listeners.size(), workers)};
  }
  const auto clients = clients_for(limit, workers);
  const auto wanted = proxy.clients.max_connections;
  const bool set = wanted != proxy::ClientOptions{}.max_connections;
  if (clients >= wanted || (!set && clients >= kPlenty)) return {};
  log_.event("few_descriptors",
             {{"limit", fmt::format("{}", limit)},
              {"wanted", fmt::format("{}", 2UL * wanted)},
              {"clients", fmt::format("{}", clients)},
              {"text",
               "so many clients are let in; for more raise the limit of open files, or lower "
               "clients.max_connections"}});
  return {};
}

void EngineRunner::tell_fixed(const config::Document& document) {
  const bool upgrades = remote_ != nullptr && !lost_;
  for (const auto& kept : kept_settings({*started_, engine_.workers(), upgrades}, document)) {
    log_.event("reload_partly", {{"key", kept.key}, {"text", kept.text}});
  }
}

// Nobody can ask for these any more: the admin API is closed, or another engine's.
void EngineRunner::tell_end() {
  if (const auto& cut = engine_.cut(); cut != io::Holding{}) {
    log_.event("drain_cut", {{"connections", fmt::format("{}", cut.connections)},
                             {"requests", fmt::format("{}", cut.exchanges - cut.tunnels)},
                             {"tunnels", fmt::format("{}", cut.tunnels)},
                             {"text", "were open when the time for draining was over"}});
  }
  const auto totals = engine_.totals();
  log_.event("served", {{"requests", fmt::format("{}", totals.requests)},
                        {"successes", fmt::format("{}", totals.successes)},
                        {"failures", fmt::format("{}", totals.failures)}});
}

void EngineRunner::stop(base::Duration limit) {
  const bool again = std::exchange(stopping_, true);
  // One stop may come as several signals: `timeout` sends two, a service manager one to each
  // process.
  if (again && reactor_.now() - asked_to_stop_ < kSameSignal) return;
  asked_to_stop_ = reactor_.now();
  log_.event(again ? "stopping_now" : "draining", {});
  if (again) return engine_.stop({}, {});
  const auto& drain = document_->proxy.drain;
  engine_.stop(drain.idle, limit, drain.accept);
}

}  // namespace steelyard::cli
