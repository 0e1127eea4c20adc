#include "test/rigs/goals/node.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <sched.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/rigs/goals/pattern.h"
#include "test/rigs/lib/net.h"

namespace steelyard::rigs {
namespace {

constexpr std::size_t kPiece = 256 << 10;  // handed to the kernel at once

std::uint64_t number_in(std::string_view text, int base = 10) {
  std::uint64_t out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out, base);
  return out;
}

std::string_view cut(std::string_view& text, char at) {
  const auto end = std::min(text.find(at), text.size());
  const auto out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

}  // namespace

void pin_this_thread(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  (void)::sched_setaffinity(0, sizeof set, &set);
}

void exact_timers() { (void)::prctl(PR_SET_TIMERSLACK, 1UL); }

QuickNode::QuickNode(const NodeOptions& options)
    : options_(options),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      listener_(listen_on({})),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      port_(port_of(listener_)),
      free_(static_cast<std::size_t>(options.servers)),
      buffer_(kPiece, '\0') {
  for (const int fd : {listener_, stop_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    (void)::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  thread_ = std::thread([this] { run(); });
}

QuickNode::~QuickNode() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
  for (const auto& session : sessions_) {
    if (session != nullptr) ::close(session->fd);
  }
  for (const int fd : {listener_, stop_, epoll_}) ::close(fd);
}

void QuickNode::run() {
  pin_this_thread(options_.cpu);
  exact_timers();
  std::array<epoll_event, 256> batch;
  for (;;) {
    timespec most{};
    const timespec* wait = nullptr;
    if (!due_.empty()) {
      const auto ns = std::max<std::int64_t>((due_.front().at - Clock::now()).count(), 0);
      most = {ns / 1'000'000'000, ns % 1'000'000'000};
      wait = &most;
    }
    const int count =
        ::epoll_pwait2(epoll_, batch.data(), static_cast<int>(batch.size()), wait, nullptr);
    for (int i = 0; i < count; ++i) {
      const auto& event = batch[static_cast<std::size_t>(i)];
      if (event.data.fd == stop_) return;
      if (event.data.fd == listener_) {
        accept();
        continue;
      }
      const auto at = static_cast<std::size_t>(event.data.fd);
      if (at < sessions_.size() && sessions_[at] != nullptr) ready(*sessions_[at], event.events);
    }
    if (!due_.empty()) serve_due(Clock::now());
  }
}

void QuickNode::accept() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const auto at = static_cast<std::size_t>(fd);
    if (at >= sessions_.size()) sessions_.resize(at + 1024);
    sessions_[at] = std::make_unique<Session>();
    sessions_[at]->fd = fd;
    sessions_[at]->generation = ++generations_;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    (void)::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
}

void QuickNode::drop(Session& session) {
  ::close(session.fd);
  sessions_[static_cast<std::size_t>(session.fd)].reset();
}

void QuickNode::ready(Session& session, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0 && !flush(session)) return drop(session);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  const ssize_t got = ::recv(session.fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0 || !take(session, {buffer_.data(), static_cast<std::size_t>(got)})) drop(session);
}

// False when the connection is over.
bool QuickNode::take(Session& session, std::string_view bytes) {
  while (!bytes.empty()) {
    if (session.whole) return false;  // no pipelining: the proxy does none
    if (session.body_left > 0) {
      const auto part = bytes.substr(0, std::min<std::uint64_t>(session.body_left, bytes.size()));
      session.body_ok = session.body_ok && Pattern::holds(session.body_at, part);
      session.body_at += part.size();
      session.body_left -= part.size();
      bytes.remove_prefix(part.size());
      if (session.body_left == 0 && !requested(session)) return false;
      continue;
    }
    std::string_view head = bytes;
    const auto before = session.partial.size();
    if (before > 0) head = session.partial.append(bytes);
    const auto end = head.find("\r\n\r\n");
    if (end == head.npos) {
      if (before == 0) session.partial = bytes;
      return session.partial.size() < 65536;
    }
    if (!read_head(session, head.substr(0, end + 2))) return false;
    bytes.remove_prefix(end + 4 - before);
    session.partial.clear();
    if (session.body_left == 0 && !requested(session)) return false;
  }
  return true;
}

bool QuickNode::read_head(Session& session, std::string_view head) {
  auto rest = head;
  const bool post = cut(rest, ' ') == "POST";
  auto target = cut(rest, ' ');
  if (!target.starts_with('/')) return false;
  target.remove_prefix(1);
  session.ledger = target.starts_with("ledger/");
  session.nonce = session.id = 0;
  if (session.ledger) {
    (void)cut(target, '/');
    session.id = number_in(cut(target, '/'));
    session.nonce_text = cut(target, '/');
    session.nonce = number_in(session.nonce_text, 16);
  }
  session.size = number_in(target);
  session.body_ok = true;
  session.body_at = session.nonce;
  session.body_left = 0;
  session.close_after = head.find("\nConnection: close") != head.npos ||
                        head.find("\nconnection: close") != head.npos;
  if (!post) return true;
  constexpr std::string_view kName = "\ncontent-length:";
  for (auto at = head.find('\n'); at != head.npos; at = head.find('\n', at + 1)) {
    if (head.size() - at <= kName.size() ||
        ::strncasecmp(head.data() + at, kName.data(), kName.size()) != 0) {
      continue;
    }
    auto value = head.substr(at + kName.size());
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    session.body_left = number_in(value);
    return true;
  }
  return head.find("ransfer-") == head.npos;  // the goals send no chunks
}

bool QuickNode::requested(Session& session) {
  session.whole = true;
  if (session.ledger && options_.ledger != nullptr) {
    options_.ledger->saw(session.id, session.body_ok);
  }
  if (free_.empty()) return answer(session);
  const auto first = std::min_element(free_.begin(), free_.end());
  *first = std::max(*first, Clock::now()) + options_.service;
  due_.push_back({*first, session.fd, session.generation});
  return true;
}

void QuickNode::serve_due(Time now) {
  while (!due_.empty() && due_.front().at <= now) {
    const auto due = due_.front();
    due_.pop_front();
    auto& session = sessions_[static_cast<std::size_t>(due.fd)];
    if (session == nullptr || session->generation != due.generation) continue;
    if (!answer(*session)) drop(*session);
  }
}

bool QuickNode::answer(Session& session) {
  auto& head = session.head_out;
  head = session.body_ok ? "HTTP/1.1 200 OK\r\nServer: node\r\nContent-Type: text/plain\r\n"
                         : "HTTP/1.1 500 Wrong body\r\nServer: node\r\n";
  if (session.ledger) head += "X-Nonce: " + session.nonce_text + "\r\n";
  head += "Content-Length: " + std::to_string(session.size) + "\r\n\r\n";
  session.out_at = session.nonce;
  session.out_left = session.size;
  if (session.size <= kPiece) {  // in one piece, as a rule
    while (session.out_left > 0) {
      const auto part = Pattern::from(session.out_at, session.out_left);
      head += part;
      session.out_at += part.size();
      session.out_left -= part.size();
    }
  }
  ++served_;
  return flush(session);
}

// False when the connection is over.
bool QuickNode::flush(Session& session) {
  bool full = false;
  while (!full && (!session.head_out.empty() || session.out_left > 0)) {
    const bool head = !session.head_out.empty();
    const auto part = head ? std::string_view(session.head_out)
                           : Pattern::from(session.out_at, std::min(session.out_left, kPiece));
    const ssize_t sent = ::send(session.fd, part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return false;
    full = sent < static_cast<ssize_t>(part.size());
    const auto taken = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
    if (head) {
      session.head_out.erase(0, taken);
    } else {
      session.out_at += taken;
      session.out_left -= taken;
    }
  }
  if (full != session.writing) {
    session.writing = full;
    epoll_event event{};
    event.events = EPOLLIN | (full ? EPOLLOUT : 0U);
    event.data.fd = session.fd;
    (void)::epoll_ctl(epoll_, EPOLL_CTL_MOD, session.fd, &event);
  }
  if (full) return true;
  session.whole = false;
  return !session.close_after;
}

}  // namespace steelyard::rigs
