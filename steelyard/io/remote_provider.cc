#include "steelyard/io/remote_provider.h"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "steelyard/io/clock.h"
#include "steelyard/io/inheritance.h"
#include "steelyard/io/pid_file.h"
#include "steelyard/io/process.h"

namespace steelyard::io {
namespace {

constexpr auto kLeaseWait = std::chrono::seconds(60);
// Without a supervisor: how long the engine that serves, and looks every few milliseconds, has the
// first word; and how long a lock may take to come free whose holder was told to give it back.
constexpr auto kFirstWord = std::chrono::milliseconds(300);
constexpr auto kLockWait = std::chrono::seconds(1);
constexpr auto kLockLook = std::chrono::milliseconds(10);
constexpr std::size_t kAddressesAPacket = 1000;

base::Error gone(std::string text) {
  return {base::Code::kReset, base::Origin::kUs, false, std::move(text)};
}

void wait_a_little(base::Duration time) noexcept {
  (void)::poll(nullptr, 0, static_cast<int>(time / std::chrono::milliseconds(1)));
}

bool for_the_engine(Verb verb) noexcept {
  return verb == Verb::kSignal || verb == Verb::kLease || verb == Verb::kGiveBack ||
         verb == Verb::kHandOver;
}

}  // namespace

base::Result<std::unique_ptr<RemoteProvider>> RemoteProvider::connect(Reactor& reactor,
                                                                      Fd channel) {
  std::unique_ptr<RemoteProvider> made(new RemoteProvider(reactor, Channel(std::move(channel))));
  auto memory = made->channel_.receive(kPatience);
  if (!memory) return made->channel_lost();
  if (memory->verb != Verb::kMemory) {
    return gone("the supervisor could not hand over its memory; has it too few descriptors?");
  }
  if (auto taken = made->take(*memory); !taken) return taken.error();
  made->workers_ = memory->number;
  while (auto message = made->channel_.receive()) {
    if (message->verb == Verb::kBegin) {
      made->replaces_dead_ = message->number != 0;
      if (auto status = ProcessStatus::parse(message->text)) made->status_ = std::move(*status);
    } else if (!take_sockets(*message, made->sockets_)) {
      made->inbox_.push_back(std::move(*message));
    }
  }
  return made;
}

base::Result<void> RemoteProvider::take(Message& memory) {
  if (memory.fds.size() != 3) return gone("the supervisor gave no memory");
  auto state = StateMemory::attach(std::move(memory.fds[0]));
  if (!state) return std::move(state).error();
  state_ = std::make_unique<StateMemory>(std::move(*state));
  auto lock = LeaseLock::on(state_->fd());
  if (!lock) return std::move(lock).error();
  lock_ = std::move(*lock);
  auto config = StateMemory::attach(std::move(memory.fds[2]));
  if (!config) return std::move(config).error();
  config_ = std::make_unique<StateMemory>(std::move(*config));
  if (heartbeat_ != nullptr) return {};  // the loops beat there already
  auto heartbeat = Heartbeat::attach(std::move(memory.fds[1]));
  if (!heartbeat) return std::move(heartbeat).error();
  heartbeat_ = std::make_unique<Heartbeat>(std::move(*heartbeat));
  return {};
}

base::Error RemoteProvider::channel_lost() const {
  if (!channel_.short_of_descriptors()) return gone("the supervisor is gone");
  return {base::Code::kLimit, base::Origin::kOperator, false,
          "too many open files: what the supervisor sent could not be taken; raise the limit "
          "(ulimit -n)"};
}

RemoteProvider::RemoteProvider(Reactor& reactor, Channel channel)
    : reactor_(reactor), channel_(std::move(channel)) {
  watch_ = reactor_.watch(channel_.fd(), *this);
}

// Only a file that names this process is dropped.
RemoteProvider::~RemoteProvider() { drop_pid_file(pid_file_); }

base::Result<Message> RemoteProvider::ask(const Message& question, Verb answer,
                                          base::Duration wait) {
  if (!channel_.send(question, wait)) {
    take_messages();
    return lost_ ? channel_lost() : gone("the supervisor does not answer");
  }
  // Each receive gets the whole wait: what comes in between is little.
  while (auto message = channel_.receive(wait)) {
    if (message->verb == answer) return std::move(*message);
    if (message->verb == Verb::kError) {
      return base::Error{static_cast<base::Code>(message->number), base::Origin::kOperator, false,
                         message->text};
    }
    if (message->verb == Verb::kMemory) {  // the state of an engine that was taken over
      if (auto taken = take(*message); !taken) return taken.error();
      continue;
    }
    inbox_.push_back(std::move(*message));
  }
  lost_ = !channel_.open();
  return lost_ ? channel_lost() : gone("the supervisor does not answer");
}

base::Result<Fd> RemoteProvider::listener(const base::Address& address, unsigned worker) {
  if (!sockets_.has(address, worker)) {
    auto answer = ask({Verb::kListen, worker, address.to_text()}, Verb::kSocket);
    if (!answer) return std::move(answer).error();
    if (answer->fds.size() != 1) return gone("the supervisor gave no socket");
    sockets_.put(address, worker, std::move(answer->fds[0]));
  }
  return sockets_.get(address, worker);
}

void RemoteProvider::keep_only(std::span<const base::Address> configured) {
  sockets_.keep_only(configured);
  do {
    const std::size_t count = std::min(configured.size(), kAddressesAPacket);
    const bool more = configured.size() > count;
    (void)channel_.send({Verb::kKeep, more ? 1U : 0U, to_lines(configured.first(count))},
                        kPatience);
    configured = configured.subspan(count);
  } while (!configured.empty());
}

void RemoteProvider::let_go() { sockets_.keep_only({}); }

unsigned RemoteProvider::workers(unsigned wanted) {
  if (workers_ != 0) return workers_;
  const auto answer = ask({Verb::kWorkers, wanted}, Verb::kNumber);
  return workers_ = answer ? answer->number : wanted;
}

base::Result<void> RemoteProvider::claim_pid_file(const std::string& path) {
  pid_file_ = path;
  const auto answer = ask({Verb::kClaim, 0, path}, Verb::kDone);
  if (!answer && !lost_) return answer.error();
  return {};  // without a supervisor it is claimed when this engine lets itself be found
}

base::Result<void> RemoteProvider::lease() {
  auto answer = ask({Verb::kWantLease}, Verb::kLease, kLeaseWait);
  if (!answer && !lost_) return std::move(answer).error();
  if (!answer) {
    wait_a_little(kFirstWord);
  } else if (auto status = ProcessStatus::parse(answer->text)) {
    status_ = std::move(*status);
  }
  const auto until = steady_now() + (answer ? kLockWait : base::Duration{});
  while (!lock_.take()) {
    if (steady_now() >= until) {
      return base::Error{base::Code::kConflict, base::Origin::kUs, true,
                         answer ? "another engine has the lease"
                                : "the supervisor is gone, and another engine has the lease"};
    }
    wait_a_little(kLockLook);
  }
  return {};
}

void RemoteProvider::ready() {
  state_->set_serving(process_id());
  (void)channel_.send({Verb::kReady}, kPatience);
}

void RemoteProvider::gave_back() {
  lock_.release();
  (void)channel_.send({Verb::kGaveBack}, kPatience);
}

void RemoteProvider::not_started(std::string_view why) {
  constexpr std::size_t kMost = 4096;  // more has no room in a message, and is on stderr
  (void)channel_.send({Verb::kNotStarted, 0, std::string(why.substr(0, kMost))}, kPatience);
}

void RemoteProvider::tell_holding(const Holding& holding) {
  (void)channel_.send({Verb::kHolding, 0, holding.to_text()});
}

bool RemoteProvider::another_serves() const noexcept {
  return state_->serving() != 0 && state_->serving() != process_id();
}

ProcessStatus RemoteProvider::status() const {
  ProcessStatus out = status_;
  out.lost = lost_;
  return out;
}

// Wakes the loop, which asks for what came with `next`. The doors wake it too.
void RemoteProvider::on_ready() noexcept {
  for (const auto& door : doors_) {
    if (Fd caller = accept_supervisor(door); caller.valid() && lost_) {
      greet(Channel(std::move(caller)));
      return;
    }
  }
  take_messages();
}

void RemoteProvider::take_messages() {
  while (auto message = channel_.receive()) inbox_.push_back(std::move(*message));
  lost_ = !channel_.open();
}

std::optional<Message> RemoteProvider::next() {
  while (!inbox_.empty()) {
    Message message = std::move(inbox_.front());
    inbox_.erase(inbox_.begin());
    if (message.verb == Verb::kStatus || message.verb == Verb::kLease) {
      if (const auto status = ProcessStatus::parse(message.text)) status_ = *status;
    }
    if (for_the_engine(message.verb)) return message;
  }
  return std::nullopt;
}

std::string RemoteProvider::let_be_found() {
  std::string trouble;
  std::vector<std::string> names;
  sockets_.each([&](const base::Address& address, unsigned worker, const Fd& /*fd*/) {
    if (worker == 0 || worker == ListenerSet::kAdmin) names.push_back(address.to_text());
  });
  if (!pid_file_.empty()) {
    names.push_back(pid_file_);
    if (const auto claimed = io::claim_pid_file(pid_file_); !claimed) {
      trouble = claimed.error().describe();
    }
  }
  for (const auto& name : names) {
    auto door = wait_for_supervisor(name);
    if (!door) {
      trouble += (trouble.empty() ? "" : "; ") + door.error().describe();
      continue;
    }
    doors_.push_back(std::move(*door));
  }
  for (const auto& door : doors_) watches_.push_back(reactor_.watch(door, *this));
  return trouble;
}

// A new supervisor: everything goes over to it, and its channel is ours from now.
void RemoteProvider::greet(Channel caller) {
  const auto asked = caller.receive(std::chrono::seconds(2));
  if (!asked || asked->verb != Verb::kAdopt) return;
  Message memory{Verb::kMemory, workers_};
  for (const auto* fd : {&state_->fd(), &heartbeat_->fd(), &config_->fd()}) {
    memory.fds.push_back(duplicate(*fd));
  }
  if (!caller.send(memory, kPatience) || !send_sockets(caller, sockets_, kPatience) ||
      !caller.send({Verb::kDone}, kPatience)) {
    return;
  }
  watch_.reset();
  channel_ = std::move(caller);
  watch_ = reactor_.watch(channel_.fd(), *this);
  lost_ = false;
  status_.upgrading = true;
  // The doors close when the loop has left this callback, which may be one of theirs.
  reactor_.post(make_task([this] {
    watches_.clear();
    doors_.clear();
  }));
}

}  // namespace steelyard::io
