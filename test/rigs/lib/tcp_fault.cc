#include "test/rigs/lib/tcp_fault.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace steelyard::rigs {
namespace {

using std::chrono::milliseconds;

bool apply(WayPlan& plan, const std::string& name, std::uint64_t value) {
  const auto number = static_cast<int>(value);
  if (name == "delay") return plan.delay_ms = number, true;
  if (name == "jitter") return plan.jitter_ms = number, true;
  if (name == "gap") return plan.gap_ms = number, true;
  if (name == "rate") return plan.rate = value, true;
  if (name == "split") return plan.split = value, true;
  if (name == "stop") return plan.stop = value, true;
  if (name == "rst") return plan.rst = value, true;
  if (name == "fin") return plan.fin = value, true;
  if (name == "corrupt") return plan.corrupt = value, true;
  if (name == "hole") return plan.hole = true;
  if (name == "deaf") return plan.deaf = true;
  return false;
}

}  // namespace

std::optional<FaultPlan> plan_of(const std::string& text) {
  FaultPlan out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    bool up = true, down = true;
    if (part.starts_with("up.")) down = false;
    if (part.starts_with("down.")) up = false;
    if (!up || !down) part.erase(0, part.find('.') + 1);
    const auto equal = std::min(part.find('='), part.size());
    const auto name = part.substr(0, equal);
    const auto value = std::strtoull(part.c_str() + std::min(equal + 1, part.size()), nullptr, 10);
    if (name == "accept") {
      out.accept_ms = static_cast<int>(value);
    } else if (name == "closed") {
      out.closed = true;
    } else {
      if (up && !apply(out.up, name, value)) return std::nullopt;
      if (down && !apply(out.down, name, value)) return std::nullopt;
    }
  }
  return out;
}

TcpFault::TcpFault(Loop& loop, const Endpoint& at, const Endpoint& to)
    : loop_(loop), at_(at), to_(to), listener_(listen_on(at)) {
  if (listener_ < 0) return;
  at_.port = port_of(listener_);
  loop_.add(listener_, EPOLLIN, [this](std::uint32_t) { accept(); });
}

TcpFault::~TcpFault() { listen(false); }

void TcpFault::listen(bool wanted) {
  if (wanted == (listener_ >= 0)) return;
  if (wanted) {
    listener_ = listen_on(at_);
    if (listener_ >= 0) loop_.add(listener_, EPOLLIN, [this](std::uint32_t) { accept(); });
    return;
  }
  loop_.remove(listener_);
  ::close(listener_);
  listener_ = -1;
}

void TcpFault::plan(const FaultPlan& plan, bool also_open) {
  plan_ = plan;
  if (!also_open) return;
  for (auto& [key, pair] : pairs_) {
    pair->up.plan = plan.up;
    pair->down.plan = plan.down;
    pair->client->read_on(!plan.up.deaf);
    pair->server->read_on(!plan.down.deaf);
  }
}

void TcpFault::reset_all() {
  while (!pairs_.empty()) drop(pairs_.begin()->first, true);
}

void TcpFault::accept() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (plan_.closed) {
      reset_on_close(fd);
      ::close(fd);
    } else if (plan_.accept_ms > 0) {
      loop_.after(milliseconds(plan_.accept_ms), [this, fd] { adopt(fd); });
    } else {
      adopt(fd);
    }
  }
}

void TcpFault::adopt(int fd) {
  const auto key = ++made_;
  const auto pair = pairs_[key] = std::make_shared<Pair>();
  pair->up.plan = plan_.up;
  pair->down.plan = plan_.down;
  pair->client = Wire::adopt(loop_, fd);
  pair->server = Wire::dial(loop_, to_);
  pair->client->on.bytes = [this, key](std::string_view bytes) { take(key, true, bytes); };
  pair->server->on.bytes = [this, key](std::string_view bytes) { take(key, false, bytes); };
  pair->client->on.end = [this, key](int error) { ended(key, true, error); };
  pair->server->on.end = [this, key](int error) { ended(key, false, error); };
  if (plan_.up.deaf) pair->client->read_on(false);
  if (plan_.down.deaf) pair->server->read_on(false);
}

void TcpFault::drop(std::uint64_t key, bool hard) {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return;
  for (const auto& wire : {found->second->client, found->second->server}) {
    hard ? wire->reset() : wire->close();
  }
  loop_.later([gone = std::move(found->second)] {});
  pairs_.erase(found);
}

void TcpFault::put(Way& way, std::string_view bytes) {
  const auto& plan = way.plan;
  Time due = loop_.now() + milliseconds(plan.delay_ms);
  if (plan.jitter_ms > 0) {
    due += milliseconds(rng_.below(static_cast<std::uint64_t>(plan.jitter_ms)));
  }
  while (!bytes.empty()) {
    auto part = bytes;
    if (plan.split > 0) part = bytes.substr(0, static_cast<std::size_t>(plan.split));
    if (plan.rate > 0) {  // pieces of 20 ms
      part = part.substr(0, static_cast<std::size_t>(std::max<std::uint64_t>(plan.rate / 50, 1)));
    }
    bytes.remove_prefix(part.size());
    due = std::max(due, way.last);
    way.queue.emplace_back(due, part);
    way.last = due;
    if (plan.split > 0) way.last += milliseconds(plan.gap_ms);
    if (plan.rate > 0) {
      way.last += std::chrono::nanoseconds(part.size() * 1'000'000'000ULL / plan.rate);
    }
  }
}

void TcpFault::take(std::uint64_t key, bool up, std::string_view bytes) {
  const auto pair = pairs_.at(key);
  auto& way = up ? pair->up : pair->down;
  const auto from = way.passed;
  way.passed += bytes.size();
  if (way.plan.hole || way.dead) return;
  std::string kept(bytes);
  const auto reached = [&](const std::optional<std::uint64_t>& mark) {
    return mark && way.passed >= *mark;
  };
  if (way.plan.corrupt && *way.plan.corrupt >= from && *way.plan.corrupt < way.passed) {
    kept[static_cast<std::size_t>(*way.plan.corrupt - from)] ^= 0x01;
  }
  for (const auto& mark : {way.plan.stop, way.plan.rst, way.plan.fin}) {
    if (reached(mark)) kept.resize(*mark > from ? static_cast<std::size_t>(*mark - from) : 0);
  }
  put(way, kept);
  way.dead = reached(way.plan.stop) || reached(way.plan.fin) || reached(way.plan.rst);
  pump(key, up);
  if (reached(way.plan.rst)) {
    // What came before the mark shall be seen before the reset.
    loop_.after(milliseconds(5), [this, key] { drop(key, true); });
  } else if (reached(way.plan.fin)) {
    (up ? pair->server : pair->client)->shutdown_write();
  }
}

void TcpFault::pump(std::uint64_t key, bool up) {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return;
  const auto pair = found->second;
  auto& way = up ? pair->up : pair->down;
  const auto& to = up ? pair->server : pair->client;
  while (!way.queue.empty() && way.queue.front().first <= loop_.now()) {
    to->send(way.queue.front().second);
    way.queue.pop_front();
  }
  if (way.queue.empty()) {
    if (way.ended && !way.plan.hole) to->shutdown_write();
    if (pair->up.ended && pair->down.ended && pair->up.queue.empty() && pair->down.queue.empty()) {
      drop(key, false);
    }
    return;
  }
  if (std::exchange(way.pumping, true)) return;
  loop_.at(way.queue.front().first, [this, key, up, &way, pair] {
    way.pumping = false;
    pump(key, up);
  });
}

void TcpFault::ended(std::uint64_t key, bool up, int error) {
  const auto found = pairs_.find(key);
  if (found == pairs_.end()) return;
  auto& way = up ? found->second->up : found->second->down;
  if (error != 0) return drop(key, true);
  way.ended = true;
  pump(key, up);
}

}  // namespace steelyard::rigs
