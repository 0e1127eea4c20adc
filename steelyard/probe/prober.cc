#include "steelyard/probe/prober.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "steelyard/base/rng.h"
#include "steelyard/probe/judge.h"
#include "steelyard/wire/client.h"

namespace steelyard::probe {

class ProberCore final : public io::TimerEvents {
 public:
  ProberCore(io::Reactor& reactor, SampleSink& sink, const ProberOptions& options)
      : reactor_(reactor),
        sink_(sink),
        options_(options),
        rng_(options.seed),
        client_(reactor),
        timer_(reactor.timer(*this)) {}
  ProberCore(const ProberCore&) = delete;
  ProberCore& operator=(const ProberCore&) = delete;
  virtual ~ProberCore() = default;

  void set_targets(std::vector<Target> wanted);
  void ask_soon(model::NodeRef node);
  [[nodiscard]] std::size_t targets() const noexcept { return entries_.size() - free_.size(); }
  [[nodiscard]] std::size_t in_flight() const noexcept { return client_.pending(); }

 private:
  struct Entry {
    Target target;
    std::uint64_t stamp = 0;  // of its item in the queue; 0: none (being asked)
    base::TimePoint asked;
    wire::Call call;
  };
  struct Due {  // in a heap, the earliest in front; stale when the entry's stamp is another
    base::TimePoint at;
    std::uint32_t slot;
    std::uint64_t stamp;
    bool operator<(const Due& other) const noexcept { return at > other.at; }
  };

  void on_time() noexcept override { pump(); }
  void add(Target target);
  void remove(std::uint32_t slot);
  void schedule(std::uint32_t slot, base::TimePoint at);
  void drop_stale();
  void pump();
  void ask(std::uint32_t slot);
  void ask_http(std::uint32_t slot);
  void ask_tcp(std::uint32_t slot);
  void asked(std::uint32_t slot);
  [[nodiscard]] base::Duration part_of(base::Duration interval, double from, double width) {
    return base::from_seconds(base::seconds(interval) * (from + width * rng_.unit()));
  }

  io::Reactor& reactor_;
  SampleSink& sink_;
  ProberOptions options_;
  base::Rng rng_;
  wire::Client client_;                          // before the entries, whose Calls it outlives
  std::vector<std::unique_ptr<Entry>> entries_;  // null where free
  std::vector<std::uint32_t> free_;
  std::vector<Due> queue_;
  std::uint64_t last_stamp_ = 0;
  std::unique_ptr<io::Timer> timer_;
};

void ProberCore::set_targets(std::vector<Target> wanted) {
  std::unordered_multimap<std::uint32_t, std::uint32_t> known;  // node slot → entry
  known.reserve(entries_.size());
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot]) known.emplace(entries_[slot]->target.node.slot, slot);
  }
  std::vector<bool> kept(entries_.size(), false);
  std::vector<Target> fresh;
  for (Target& target : wanted) {
    const auto [from, to] = known.equal_range(target.node.slot);
    const auto same = std::find_if(from, to, [&](const auto& one) {
      return !kept[one.second] && entries_[one.second]->target == target;
    });
    if (same != to) {
      kept[same->second] = true;
    } else {
      fresh.push_back(std::move(target));
    }
  }
  for (std::uint32_t slot = 0; slot < kept.size(); ++slot) {
    if (entries_[slot] && !kept[slot]) remove(slot);
  }
  for (Target& target : fresh) add(std::move(target));
  pump();
}

void ProberCore::add(Target target) {
  if (free_.empty()) {
    entries_.push_back(nullptr);
    free_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  const base::TimePoint first = reactor_.now() + part_of(target.interval, 0, 1);
  entries_[slot] = std::make_unique<Entry>();
  entries_[slot]->target = std::move(target);
  schedule(slot, first);
}

void ProberCore::remove(std::uint32_t slot) {
  entries_[slot].reset();
  free_.push_back(slot);
}

void ProberCore::schedule(std::uint32_t slot, base::TimePoint at) {
  drop_stale();
  entries_[slot]->stamp = ++last_stamp_;
  queue_.push_back({at, slot, last_stamp_});
  std::push_heap(queue_.begin(), queue_.end());
}

void ProberCore::drop_stale() {
  if (queue_.size() < 2 * targets() + 64) return;
  const auto stale = [&](const Due& due) {
    return !entries_[due.slot] || entries_[due.slot]->stamp != due.stamp;
  };
  queue_.erase(std::remove_if(queue_.begin(), queue_.end(), stale), queue_.end());
  std::make_heap(queue_.begin(), queue_.end());
}

void ProberCore::ask_soon(model::NodeRef node) {
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    const Entry* entry = entries_[slot].get();
    if (entry != nullptr && entry->target.node == node && entry->stamp != 0)
      schedule(slot, reactor_.now());
  }
  pump();
}

void ProberCore::pump() {
  const base::TimePoint now = reactor_.now();
  while (!queue_.empty()) {
    const Due due = queue_.front();
    const bool stale = !entries_[due.slot] || entries_[due.slot]->stamp != due.stamp;
    if (!stale && due.at > now) {
      timer_->at(due.at);
      return;
    }
    if (!stale && client_.pending() >= options_.max_in_flight)
      return;  // goes on when an answer is here
    std::pop_heap(queue_.begin(), queue_.end());
    queue_.pop_back();
    if (!stale) ask(due.slot);
  }
}

void ProberCore::ask(std::uint32_t slot) {
  Entry& entry = *entries_[slot];
  entry.stamp = 0;
  entry.asked = reactor_.now();
  if (entry.target.kind == Kind::kTcpCheck) {
    ask_tcp(slot);
  } else {
    ask_http(slot);
  }
}

void ProberCore::ask_http(std::uint32_t slot) {
  Entry& entry = *entries_[slot];
  wire::Request request;
  request.target = entry.target.path;
  request.host = entry.target.host;
  request.headers.push_back({"User-Agent", "steelyard"});
  const wire::CallOptions options{.timeout = entry.target.timeout, .want_headers = false};
  entry.call = client_.send(
      entry.target.address, request, options, [this, slot](base::Result<wire::Response> answer) {
        const Entry& done = *entries_[slot];
        const base::TimePoint now = reactor_.now();
        if (done.target.kind == Kind::kScore) {
          const model::ReportSample sample = judge_report(done.target, answer, now);
          asked(slot);
          sink_.on_report(sample);
        } else {
          const model::CheckSample sample = judge_check(done.target, answer, done.asked, now);
          asked(slot);
          sink_.on_check(sample);
        }
      });
}

void ProberCore::ask_tcp(std::uint32_t slot) {
  Entry& entry = *entries_[slot];
  const auto opened = [this, slot](const base::Result<void>& result) {
    const Entry& done = *entries_[slot];
    const model::CheckSample sample =
        judge_connect(done.target, result, done.asked, reactor_.now());
    asked(slot);
    sink_.on_check(sample);
  };
  entry.call = client_.open(entry.target.address, entry.target.timeout, opened);
}

// The next time is set and others are let go first: the sink may change everything.
void ProberCore::asked(std::uint32_t slot) {
  const Entry& entry = *entries_[slot];
  const base::TimePoint next = entry.asked + part_of(entry.target.interval, 0.9, 0.2);
  schedule(slot, std::max(next, reactor_.now()));
  pump();
}

Prober::Prober(io::Reactor& reactor, SampleSink& sink, const ProberOptions& options)
    : core_(std::make_unique<ProberCore>(reactor, sink, options)) {}
Prober::~Prober() = default;
void Prober::set_targets(std::vector<Target> targets) { core_->set_targets(std::move(targets)); }
void Prober::ask_soon(model::NodeRef node) { core_->ask_soon(node); }
std::size_t Prober::targets() const noexcept { return core_->targets(); }
std::size_t Prober::in_flight() const noexcept { return core_->in_flight(); }

}  // namespace steelyard::probe
