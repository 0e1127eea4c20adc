// steelyard run: one balancer in this process, until TERM.
//
//   HUP reload · TERM, INT drain and stop, a second time stop now · QUIT drain without limit
#include <csignal>
#include <fmt/format.h>

#include "steelyard/cli/command.h"
#include "steelyard/cli/engine.h"
#include "steelyard/cli/pid_file.h"
#include "steelyard/cli/source.h"
#include "steelyard/cli/version.h"
#include "steelyard/io/crypto.h"
#include "steelyard/io/epoll.h"
#include "steelyard/io/process.h"
#include "steelyard/io/signal.h"

namespace steelyard::cli {
namespace {

int fail(std::string_view text) {
  fmt::print(stderr, "steelyard: {}\n", text);
  return kFailure;
}

std::shared_ptr<const config::Document> with_flags(
    const std::shared_ptr<const config::Document>& document, const RunFlags& flags,
    const base::Address& admin) {
  auto changed = std::make_shared<config::Document>(*document);
  if (flags.workers != 0) changed->proxy.workers = flags.workers;
  if (admin.valid()) changed->admin.address = admin;
  return changed;
}

class Runner {
 public:
  Runner(const RunFlags& flags, io::Reactor& reactor)
      : flags_(flags),
        log_(2),
        provider_(io::make_local_provider()),
        engine_(reactor, *provider_, log_,
                {.seed = io::random_seed(),
                 .version = std::string(kVersion),
                 .revision = std::string(kRevision)}) {}

  base::Result<void> start(const std::shared_ptr<const config::Document>& document,
                           const base::Address& admin) {
    admin_ = admin;
    document_ = with_flags(document, flags_, admin);
    check_descriptors(io::raise_descriptor_limit());
    if (auto claimed = claim_pid_file(document_->pid_file); !claimed) return claimed;
    if (auto started = engine_.start(document_); !started) {
      drop_pid_file(document_->pid_file);
      return started;
    }
    for (const auto& address : engine_.listeners()) {
      log_.event("listening", {{"address", address.to_text()}});
    }
    log_.event("admin", {{"url", fmt::format("http://{}/", engine_.admin_address().to_text())}});
    return {};
  }

  void on_signal(int number) {
    switch (number) {
      case SIGHUP:
        reload_wanted_ = true;
        return;
      case SIGTERM:
      case SIGINT:
        return stop(document_->proxy.drain.limit);
      case SIGQUIT:
        return stop(std::chrono::hours(24 * 365));
      case SIGUSR1:
        return log_.event("reopen", {{"text", "no log files are open"}});
      default:
        return log_.event("signal_ignored", {{"number", fmt::format("{}", number)}});
    }
  }

  // Between turns. Reloads join: one for all HUPs that came while listeners were being emptied.
  void after_turn() {
    if (reload_wanted_ && !stopping_ && engine_.settled()) {
      reload_wanted_ = false;
      reload();
    }
  }

  [[nodiscard]] bool stopped() const { return engine_.stopped(); }
  void finish() {
    drop_pid_file(document_->pid_file);
    log_.event("stopped", {});
  }

 private:
  void reload() {
    const Source source = load_source(flags_.config);
    if (!source.report.empty()) fmt::print(stderr, "{}", source.report);
    if (source.document == nullptr) {
      engine_.reload_failed();
      return log_.event("reload_refused", {{"file", source.name}});
    }
    const auto document = with_flags(source.document, flags_, admin_);
    tell_fixed(*document);
    if (auto done = engine_.reload(document); !done) {
      return log_.event("reload_refused",
                        {{"file", source.name}, {"reason", done.error().describe()}});
    }
    document_ = document;
    log_.event("reloaded", {{"file", source.name}});
  }

  // Each client may take two descriptors: its own and one to a node.
  void check_descriptors(unsigned long limit) {
    const auto wanted = 2UL * document_->proxy.clients.max_connections;
    if (limit >= wanted) return;
    log_.event("few_descriptors",
               {{"limit", fmt::format("{}", limit)},
                {"wanted", fmt::format("{}", wanted)},
                {"text", "raise the limit of open files, or lower clients.max_connections"}});
  }

  void tell_fixed(const config::Document& document) {
    const auto told = [&](bool differs, std::string_view key) {
      if (differs) {
        log_.event("reload_partly", {{"key", key}, {"text", "is taken at the next start only"}});
      }
    };
    told(document.proxy.workers != document_->proxy.workers, "workers");
    told(document.pid_file != document_->pid_file, "pid_file");
    told(document.proxy.clients.max_head != document_->proxy.clients.max_head, "clients.max_head");
    told(document.proxy.clients.max_body != document_->proxy.clients.max_body, "clients.max_body");
  }

  void stop(base::Duration limit) {
    const bool again = std::exchange(stopping_, true);
    log_.event(again ? "stopping_now" : "draining", {});
    engine_.stop(again ? base::Duration{} : document_->proxy.drain.idle,
                 again ? base::Duration{} : limit);
  }

  RunFlags flags_;
  Log log_;
  std::unique_ptr<io::Provider> provider_;
  Engine engine_;
  std::shared_ptr<const config::Document> document_;
  base::Address admin_;
  bool stopping_ = false;
  bool reload_wanted_ = false;
};

}  // namespace

int run(const RunFlags& flags) {
  const Source source = load_source(flags.config);
  if (!source.report.empty()) fmt::print(stderr, "{}", source.report);
  if (source.document == nullptr) return kFailure;
  base::Address admin;
  if (!flags.admin.empty()) {
    auto parsed = base::Address::parse(flags.admin, /*any=*/true);
    if (!parsed) return fail("--admin " + parsed.error().text);
    if (!parsed->is_loopback()) return fail("--admin: " + flags.admin + " is not loopback");
    admin = *parsed;
  }
  io::block_signals();
  const auto reactor = io::make_epoll_reactor();
  Runner runner(flags, *reactor);
  if (auto started = runner.start(source.document, admin); !started) {
    return fail(started.error().describe());
  }
  const auto signals = io::watch_signals(*reactor, [&](int number) { runner.on_signal(number); });
  if (!signals) return fail(signals.error().describe());
  while (!runner.stopped()) {
    reactor->run_turn(base::TimePoint::max());
    runner.after_turn();
  }
  runner.finish();
  return kOk;
}

}  // namespace steelyard::cli
