#include "test/rigs/lib/ledger_node.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace steelyard::rigs {
namespace {

std::uint64_t number_in(std::string_view text, int base = 10) {
  std::uint64_t out = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), out, base);
  return out;
}

bool is_ledger(const Head& head) { return head.target().starts_with("/ledger/"); }
std::uint64_t id_in(const Head& head) {
  const auto target = head.target();
  return number_in(target.substr(target.rfind('/') + 1));
}

}  // namespace

LedgerNode::LedgerNode(Loop& loop, LedgerNodeOptions options)
    : loop_(loop),
      options_(std::move(options)),
      script_(options_.cases),
      listener_(listen_on(options_.at)) {
  if (listener_ < 0) return;
  script_.choose(options_.misbehave);
  if (!options_.log.empty()) {
    log_ = ::open(options_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }
  loop_.add(listener_, EPOLLIN, [this](std::uint32_t) { accept(); });
}

LedgerNode::~LedgerNode() {
  if (listener_ >= 0) {
    loop_.remove(listener_);
    ::close(listener_);
  }
  if (log_ >= 0) ::close(log_);
}

void LedgerNode::accept() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const auto key = ++sessions_made_;
    auto& session = *(sessions_[key] = std::make_unique<Session>());
    session.wire = Wire::adopt(loop_, fd);
    session.reader.on_head = [this, &session](const Head& head) { begin(session, head); };
    session.reader.on_body = [this, &session](std::string_view bytes) { body(session, bytes); };
    session.reader.on_end = [this, key] { finish(key); };
    session.wire->on.bytes = [this, key, &session](std::string_view bytes) {
      if (!session.spoiled && !session.reader.feed(bytes) && !session.spoiled) drop(key);
    };
    session.wire->on.end = [this, key](int) { drop(key); };
    if (script_.greets()) {
      session.spoiled = true;
      script_.run(loop_, session.wire, {});
    }
  }
}

void LedgerNode::drop(std::uint64_t key) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;
  found->second->wire->close();
  loop_.later([this, key] { sessions_.erase(key); });
}

void LedgerNode::log(const Served& event) const {
  if (log_ < 0) return;
  const auto line = line_of(event);
  (void)!::write(log_, line.data(), line.size());
}

void LedgerNode::begin(Session& session, const Head& head) {
  session.head = head;
  session.digest = {};
  session.control.clear();
  if (is_ledger(head)) {
    log({id_in(head), head.method() == "POST", options_.name, now_us(), false});
  }
}

void LedgerNode::body(Session& session, std::string_view bytes) {
  session.digest.add(bytes);
  if (session.head.target() == "/control") session.control.append(bytes);
}

void LedgerNode::finish(std::uint64_t key) {
  auto& session = *sessions_.at(key);
  if (session.head.target() == "/control") return answer_control(session);
  if (script_.wants(session.head)) {
    session.spoiled = script_.run(loop_, session.wire, session.head);
    if (session.spoiled) return;
  }
  if (delay_ms_ == 0) return answer(session);
  loop_.after(std::chrono::milliseconds(delay_ms_), [this, key] {
    const auto found = sessions_.find(key);
    if (found != sessions_.end()) answer(*found->second);
  });
}

void LedgerNode::answer_control(Session& session) {
  std::string_view rest = session.control;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto equal = std::min(line.find('='), line.size());
    const auto value = line.substr(std::min(equal + 1, line.size()));
    if (line.substr(0, equal) == "delay_ms") delay_ms_ = static_cast<int>(number_in(value));
    if (line.substr(0, equal) == "die_after")
      die_after_ = static_cast<std::int64_t>(number_in(value));
    if (line.substr(0, equal) == "misbehave") script_.choose(value);
  }
  session.wire->send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  session.wire->shutdown_write();
}

void LedgerNode::answer(Session& session) {
  const Head& head = session.head;
  const auto nonce = number_in(head.field("X-Ledger-Nonce"), 16);
  const bool post = head.method() == "POST";
  const auto size = static_cast<std::size_t>(number_in(head.field("X-Ledger-Size")));
  const std::string bytes = payload(answer_nonce(nonce), size);
  const auto digest = post ? session.digest.value() : digest_of(bytes);
  std::string out =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Ledger-Node: " + options_.name +
      "\r\nX-Ledger-Nonce: " + std::string(head.field("X-Ledger-Nonce")) +
      "\r\nX-Ledger-Digest: " + std::to_string(digest) +
      "\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
  if (die_after_ >= 0 && !post && static_cast<std::size_t>(die_after_) < size) {
    out.append(bytes, 0, static_cast<std::size_t>(die_after_));
    session.wire->send(out);
    ::raise(SIGKILL);
  }
  if (is_ledger(head)) {
    log({id_in(head), post, options_.name, now_us(), true, session.digest.size(),
         session.digest.value()});
  }
  session.wire->send(out + bytes + script_.surplus(head));
}

}  // namespace steelyard::rigs
