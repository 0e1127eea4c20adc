#include "steelyard/supervise/supervisor.h"

#include <algorithm>
#include <csignal>
#include <unistd.h>

#include "steelyard/io/clock.h"
#include "steelyard/io/failpoint.h"
#include "steelyard/io/inheritance.h"
#include "steelyard/io/pid_file.h"
#include "steelyard/supervise/reason.h"

namespace steelyard::supervise {

using Phase = Engine::Phase;
using io::Message;
using io::Verb;

Supervisor::Supervisor(io::Reactor& reactor, Options options, Events& events)
    : reactor_(reactor),
      options_(std::move(options)),
      events_(events),
      timer_(reactor.timer(*this)) {
  status_.supervisor = ::getpid();
  status_.generation = 0;
  status_.started = io::unix_now();
}

Supervisor::~Supervisor() { io::drop_pid_file(pid_file_); }

base::Result<void> Supervisor::start() {
  // What an engine started (`nginx -t`) and did not live to see end comes to us.
  io::adopt_orphans();
  strangers_ = io::children();
  if (state_ == nullptr) {
    auto made = io::StateMemory::create();
    if (!made) return std::move(made).error();
    state_ = std::make_unique<io::StateMemory>(std::move(*made));
  }
  if (config_ == nullptr) {
    auto made = io::StateMemory::create("steelyard-config");
    if (!made) return std::move(made).error();
    config_ = std::make_unique<io::StateMemory>(std::move(*made));
  }
  timer_->at(reactor_.now() + options_.look);
  spawn(/*kept=*/served_ && in(Phase::kServing) == nullptr);
  return {};
}

base::Result<void> Supervisor::resume(io::Fd handover) {
  std::string text(std::size_t{1} << 20, '\0');
  const ssize_t got = ::pread(handover.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (auto taken = take_handover(text); !taken) return taken;
  events_.on_event("supervisor_replaced", {{"engines", std::to_string(engines_.size())}});
  io::failpoint(what_goes_on(), "resumed");
  return start();
}

void Supervisor::spawn(bool kept) {
  restart_at_ = base::TimePoint::max();
  ++status_.generation;
  auto heartbeat = io::Heartbeat::create();
  auto channel = io::Channel::pair();
  if (heartbeat && channel) endow(channel->first, *heartbeat, kept);
  auto process = !heartbeat ? base::Result<io::OwnProcess>(heartbeat.error())
                 : !channel
                     ? base::Result<io::OwnProcess>(channel.error())
                     : io::OwnProcess::start(options_.engine_arguments, channel->second.fd());
  if (!process) {
    events_.on_event("engine_not_started", {{"reason", process.error().describe()}});
    if (served_) return crashed({});
    exit_code_ = 1;
    finished_ = true;
    return;
  }
  add(std::move(*process), std::move(channel->first), std::move(*heartbeat));
  engines_.back()->generation = status_.generation;
  io::failpoint(what_goes_on(), "spawned");
}

// Before it starts, so that nothing of it depends on our being there. What finds no room in the
// channel it asks for.
void Supervisor::endow(io::Channel& channel, const io::Heartbeat& heartbeat, bool kept) {
  (void)channel.send(memory_of(heartbeat));
  (void)channel.send({Verb::kBegin, kept ? 1U : 0U, status_for(status_.generation).to_text()});
  (void)io::send_sockets(channel, sockets_);
}

std::string_view Supervisor::what_goes_on() const noexcept {
  if (status_.upgrading) return "upgrade";
  return !served_ ? "start" : in(Phase::kServing) != nullptr ? "takeover" : "restart";
}

void Supervisor::add(io::OwnProcess process, io::Channel channel, io::Heartbeat heartbeat) {
  engines_.push_back(std::make_unique<Engine>(reactor_, static_cast<Engine::Owner&>(*this),
                                              std::move(process), std::move(channel),
                                              std::move(heartbeat)));
}

Engine* Supervisor::in(Phase phase) const noexcept {
  for (const auto& engine : engines_) {
    if (engine->phase == phase) return engine.get();
  }
  return nullptr;
}

// One that does not read is looked after by its heartbeat.
void Supervisor::tell(Engine& engine, Message message) { (void)engine.channel.send(message); }

io::ProcessStatus Supervisor::status_for(std::uint64_t generation) const {
  io::ProcessStatus out = status_;
  out.generation = generation;
  out.crash_limit = options_.crashes;
  out.crash_window = options_.crash_window / std::chrono::seconds(1);
  for (const auto& engine : engines_) {
    if (engine->phase != Phase::kDraining) continue;
    out.draining.push_back({.pid = engine->process.pid(),
                            .generation = engine->generation,
                            .since = engine->draining_since,
                            .holding = engine->holding});
  }
  return out;
}

void Supervisor::tell_status() {
  for (const auto& engine : engines_) {
    if (engine->phase == Phase::kStarting) continue;
    tell(*engine, {Verb::kStatus, 0, status_for(engine->generation).to_text()});
  }
}

Message Supervisor::memory_of(const io::Heartbeat& heartbeat) const {
  Message out{Verb::kMemory, workers_};
  for (const auto* fd : {&state_->fd(), &heartbeat.fd(), &config_->fd()}) {
    out.fds.push_back(io::duplicate(*fd));
  }
  return out;
}

// --- what engines say

void Supervisor::on_engine(Engine& engine) noexcept {
  while (auto message = engine.channel.receive()) handle(engine, *message);
  if (io::Ending how; engine.process.ended(how)) gone(engine, how);
}

void Supervisor::handle(Engine& from, Message& message) {
  switch (message.verb) {
    case Verb::kWorkers:
      if (workers_ == 0) workers_ = message.number;
      return tell(from, {Verb::kNumber, workers_});
    case Verb::kListen:
      return listen(from, message);
    case Verb::kClaim:
      return claim(from, message.text);
    case Verb::kKeep:
      return keep(from, message);
    case Verb::kWantLease:
      from.wants_lease = true;
      io::failpoint(what_goes_on(), "wanted");
      return give_lease();
    case Verb::kGaveBack:
      if (holder_ == &from) holder_ = nullptr;
      from.asked_back = {};
      io::failpoint(what_goes_on(), "gave_back");
      return give_lease();
    case Verb::kReady:
      io::failpoint(what_goes_on(), "ready");
      return serves(from);
    case Verb::kNotStarted:
      from.why = shortened(message.text);
      return;
    case Verb::kHolding:
      if (auto holding = io::Holding::parse(message.text); holding != from.holding) {
        from.holding = holding;
        tell_status();
      }
      return;
    default:
      return;  // nothing an engine says
  }
}

void Supervisor::listen(Engine& from, const Message& message) {
  const auto address = base::Address::parse(message.text, /*any=*/true);
  auto socket = address ? sockets_.get(*address, message.number) : address.error();
  // Taken by an engine that has lost its supervisor?
  if (!socket && adopt(from, message.text)) socket = sockets_.get(*address, message.number);
  if (!socket) {
    const auto& error = socket.error();
    return tell(from, {Verb::kError, static_cast<std::uint32_t>(error.code), error.describe()});
  }
  Message answer{Verb::kSocket};
  answer.fds.push_back(std::move(*socket));
  tell(from, std::move(answer));
}

// The first engine's stays: fixed until restart.
void Supervisor::claim(Engine& from, const std::string& path) {
  if (pid_file_.empty()) {
    const auto try_it = [&] {
      std::vector<int> ours;
      for (const auto& engine : engines_) ours.push_back(engine->process.pid());
      return io::claim_pid_file(path, ours);
    };
    auto claimed = try_it();
    if (!claimed && adopt(from, path)) claimed = try_it();
    if (!claimed) {
      const auto& error = claimed.error();
      return tell(from, {Verb::kError, static_cast<std::uint32_t>(error.code), error.describe()});
    }
    pid_file_ = path;
  }
  tell(from, {Verb::kDone});
}

void Supervisor::keep(Engine& from, const Message& message) {
  if (holder_ != &from) return;
  for (const auto& address : io::addresses_of(message.text)) coming_.push_back(address);
  if (message.number != 0) return;
  kept_ = std::exchange(coming_, {});
  sockets_.keep_only(kept_);
}

// Takes an engine without a supervisor over, with its sockets and its state, for `by`, which is
// about to take its place.
bool Supervisor::adopt(Engine& by, std::string_view name) {
  constexpr auto kPatience = std::chrono::seconds(2);
  if (by.phase != Phase::kStarting || served_ || holder_ != nullptr) return false;
  auto [channel, pid] = io::call_engine(name);
  if (!channel.open() || !channel.send({Verb::kAdopt}, kPatience)) return false;
  auto memory = channel.receive(kPatience);
  if (!memory || memory->verb != Verb::kMemory || memory->fds.size() != 3) return false;
  auto state = io::StateMemory::attach(std::move(memory->fds[0]));
  auto heartbeat = io::Heartbeat::attach(std::move(memory->fds[1]));
  auto config = io::StateMemory::attach(std::move(memory->fds[2]));
  if (!state || !heartbeat || !config || (workers_ != 0 && workers_ != memory->number))
    return false;
  for (;;) {
    auto socket = channel.receive(kPatience);
    if (!socket) return false;
    if (socket->verb == Verb::kDone) break;
    if (!io::take_sockets(*socket, sockets_)) return false;
  }
  workers_ = memory->number;
  state_ = std::make_unique<io::StateMemory>(std::move(*state));
  config_ = std::make_unique<io::StateMemory>(std::move(*config));
  add(io::OwnProcess(pid), std::move(channel), std::move(*heartbeat));
  holder_ = engines_.back().get();
  holder_->phase = Phase::kServing;
  served_ = true;
  tell(by, memory_of(by.heartbeat));
  events_.on_event("engine_found", {{"pid", std::to_string(pid)},
                                    {"text", "it had lost its supervisor; a new one takes over"}});
  io::failpoint(what_goes_on(), "found");
  return true;
}

// --- who serves

void Supervisor::give_lease() {
  const auto waiting = std::find_if(engines_.begin(), engines_.end(),
                                    [](const auto& engine) { return engine->wants_lease; });
  Engine* const next = waiting != engines_.end() ? waiting->get() : in(Phase::kServing);
  if (next == nullptr || next == holder_ || stopping_) return;
  if (holder_ != nullptr) {
    if (waiting == engines_.end() || holder_->asked_back != base::TimePoint{}) return;
    holder_->asked_back = reactor_.now();
    tell(*holder_, {Verb::kGiveBack});
    return io::failpoint(what_goes_on(), "asked_back");
  }
  holder_ = next;
  next->wants_lease = false;
  tell(*next, {Verb::kLease, 0, status_for(next->generation).to_text()});
  io::failpoint(what_goes_on(), "gave_lease");
}

void Supervisor::serves(Engine& engine) {
  const auto now = reactor_.now();
  const auto what = what_goes_on();
  for (const auto& other : engines_) {
    if (other.get() == &engine || other->phase != Phase::kServing) continue;
    other->phase = Phase::kDraining;
    other->since = now;
    other->draining_since = io::unix_now();
    tell(*other, {Verb::kHandOver, 0, io::to_lines(kept_)});
  }
  io::failpoint(what, "handed_over");
  engine.phase = Phase::kServing;
  engine.since = now;
  served_ = true;
  events_.on_event("engine_serves", {{"pid", std::to_string(engine.process.pid())},
                                     {"generation", std::to_string(engine.generation)}});
  if (std::exchange(status_.upgrading, false)) {
    ++status_.upgrades;
    events_.on_event("upgraded", {{"generation", std::to_string(engine.generation)}});
  }
  tell_status();
  const auto old = std::count_if(engines_.begin(), engines_.end(), [](const auto& other) {
    return other->phase == Phase::kDraining;
  });
  if (static_cast<std::size_t>(old) <= options_.draining) return;
  Engine* const oldest = in(Phase::kDraining);
  events_.on_event("engine_cut_short", {{"pid", std::to_string(oldest->process.pid())},
                                        {"text", "too many old engines are still draining"}});
  tell(*oldest, {Verb::kSignal, SIGTERM});
}

// --- signals

void Supervisor::on_signal(int number) {
  if (number == SIGTERM || number == SIGINT || number == SIGQUIT) return stop(number);
  if (number == SIGUSR2) return check_program();
  for (const auto& engine : engines_) {
    // One that starts may have read the file before; one that drains has log files to reopen.
    if (number == SIGHUP && engine->phase == Phase::kDraining) continue;
    tell(*engine, {Verb::kSignal, static_cast<std::uint32_t>(number)});
  }
  // Somebody has mended something: the file comes first.
  if (number == SIGHUP && !stopping_ && in(Phase::kServing) == nullptr &&
      in(Phase::kStarting) == nullptr) {
    spawn(/*kept=*/false);
  }
}

void Supervisor::stop(int number) {
  stopping_ = true;
  check_.reset();
  for (const auto& engine : engines_) {
    if (engine->phase == Phase::kStarting) {
      engine->process.kill(SIGKILL);
    } else {
      tell(*engine, {Verb::kSignal, static_cast<std::uint32_t>(number)});
    }
  }
  finished_ = engines_.empty();
}

}  // namespace steelyard::supervise
