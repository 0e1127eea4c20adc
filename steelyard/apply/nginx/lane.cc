#include "steelyard/apply/nginx/lane.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace steelyard::apply::nginx {
namespace {

// Only for what hangs for ever: a reload command is not killed while it may still do its work.
constexpr base::Duration kReloadMost = std::chrono::hours(1);

// The line of a command's output that says most: the last with [emerg], else the last.
std::string telling_line(std::string_view text) {
  std::string_view best;
  bool emergency = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool emerg = line.find("[emerg]") != std::string_view::npos;
    if (line.empty() || (emergency && !emerg)) continue;
    best = line;
    emergency = emerg;
  }
  std::string out(best.substr(0, 300));
  std::replace_if(out.begin(), out.end(), [](char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return out;
}

std::string joined(const std::vector<std::string>& arguments) {
  std::string out;
  for (const auto& a : arguments) out += (out.empty() ? "" : " ") + a;
  return out;
}

Outcome outcome_of(const std::vector<std::string>& arguments, const io::ChildResult& result) {
  Outcome out;
  out.ok = result.ok();
  if (!out.ok) {
    out.error = "`" + joined(arguments) + "` " + result.describe();
    const std::string line = telling_line(result.errors.empty() ? result.output : result.errors);
    if (!line.empty()) out.error += ": " + line;
  }
  return out;
}

}  // namespace

bool same_lane(const NginxOptions& a, const NginxOptions& b) noexcept {
  const auto shared = [](const NginxOptions& o) {
    return std::tie(o.test, o.reload, o.pid, o.gap, o.test_timeout, o.verify_timeout, o.watch,
                    o.on_edit);
  };
  return shared(a) == shared(b);
}

MachineOptions machine_options(const NginxOptions& options) noexcept {
  MachineOptions out;
  out.gap = options.gap;
  out.verify_timeout = options.verify_timeout;
  out.watch = options.watch;
  out.reassert = options.on_edit == OnEdit::kReassert;
  return out;
}

Lane::Lane(io::Reactor& reactor, const NginxOptions& options, Events& events,
           std::optional<MachineOptions> tuned)
    : reactor_(reactor),
      options_(options),
      events_(events),
      machine_(tuned.value_or(machine_options(options))),
      timer_(reactor.timer(*this)),
      self_(std::make_shared<Lane*>(this)) {}

Lane::~Lane() { writer_.reset(); }

void Lane::add(const std::string& upstream, const NginxOptions& options) {
  upstreams_[options.file] = upstream;
  store_.add(options.file, options.write == Write::kInPlace);
  machine_.add(options.file);
  soon();
}

void Lane::retire(const std::string& file) {
  machine_.retire(file);
  soon();
}

void Lane::leave(const std::string& file) {
  machine_.leave(file);
  soon();
}

void Lane::want(const std::string& file, std::string text, std::uint64_t table, bool fallback) {
  machine_.want(file, std::move(text), table, fallback);
  soon();
}

void Lane::resume(const std::string& file) {
  machine_.resume(file);
  soon();
}

void Lane::pump() {
  for (;;) {
    const Action action = machine_.next(reactor_.now());
    tell();
    if (action.what == Do::kNothing) {
      if (machine_.wake() == base::TimePoint::max()) {
        timer_->cancel();
      } else {
        timer_->at(machine_.wake());
      }
      return;
    }
    perform(action);
  }
}

void Lane::perform(const Action& action) {
  switch (action.what) {
    case Do::kSample: {
      Outcome out;
      out.workers = read_workers(options_.pid);
      return finish(action.what, std::move(out));
    }
    case Do::kLook:
    case Do::kLoad:
      return finish(action.what, store_.perform(action));
    case Do::kRelease:
      upstreams_.erase(action.target);
      return finish(action.what, store_.perform(action));
    case Do::kTest:
      return run(Do::kTest, options_.test, options_.test_timeout);
    case Do::kReload:
      return run(Do::kReload, options_.reload, kReloadMost);
    default:
      return write(action);
  }
}

void Lane::write(const Action& action) {
  writer_.reset();
  const auto done = [this, what = action.what, weak = std::weak_ptr<Lane*>(self_)](Outcome how) {
    const auto outcome = std::make_shared<Outcome>(std::move(how));
    reactor_.post(io::make_task([weak, outcome, what] {
      if (const auto lane = weak.lock()) {
        (*lane)->finish(what, std::move(*outcome));
        (*lane)->pump();
      }
    }));
  };
  // The lane lives while its thread runs; only the posted result may come too late.
  auto started = io::Thread::start("apply", [this, action, done] { done(store_.perform(action)); });
  if (!started) {
    Outcome failed;
    failed.ok = false;
    failed.error = started.error().text;
    return done(std::move(failed));
  }
  writer_.emplace(std::move(*started));
}

void Lane::run(Do what, const std::vector<std::string>& arguments, base::Duration deadline) {
  io::ChildOptions options;
  options.arguments = arguments;
  options.deadline = deadline;
  auto& child = what == Do::kTest ? test_ : reload_;
  auto started = io::start_child(reactor_, std::move(options),
                                 [this, what, &child, arguments](const io::ChildResult& result) {
                                   const auto keep = std::move(child);  // dies after this call
                                   finish(what, outcome_of(arguments, result));
                                   pump();
                                 });
  if (started) {
    child = std::move(*started);
    return;
  }
  Outcome out;
  out.ok = false;
  out.error = started.error().describe();
  finish(what, std::move(out));
}

void Lane::finish(Do what, Outcome outcome) {
  machine_.finished(what, std::move(outcome), reactor_.now());
  tell();
}

void Lane::tell() {
  for (Event& event : machine_.take_events()) {
    if (const auto found = upstreams_.find(event.upstream); found != upstreams_.end()) {
      event.upstream = found->second;
    }
    events_.on_event(event);
  }
}

}  // namespace steelyard::apply::nginx
