#include "test/rigs/lib/recorder.h"

#include <future>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace steelyard::rigs {

using std::chrono::milliseconds;

Recorder::Recorder() : listener_(listen_on({})), port_(port_of(listener_)) {
  loop_.add(listener_, EPOLLIN, [this](std::uint32_t) { accept(); });
  thread_ = std::thread([this] { loop_.run(); });
}

Recorder::~Recorder() {
  loop_.stop();
  thread_.join();
  ::close(listener_);
}

void Recorder::call(const std::function<void()>& what) {
  std::promise<void> done;
  loop_.post([&] {
    what();
    done.set_value();
  });
  done.get_future().wait();
}

void Recorder::script(RecorderScript script) {
  call([&] {
    script_ = std::move(script);
    played_ = script_.after.empty();
    seen_ = {};
    // A scripted case has to start on a connection of its own.
    if (!played_) {
      for (auto& [key, session] : sessions_) session->wire->close();
      sessions_.clear();
    }
    for (auto& [key, session] : sessions_) session->bytes.clear();
  });
}

Recorded Recorder::take() {
  Recorded out;
  call([&] {
    for (auto& [key, session] : sessions_) {
      if (!session->bytes.empty()) seen_.bytes.push_back(std::move(session->bytes));
      session->bytes.clear();
    }
    out = std::move(seen_);
    seen_ = {};
  });
  return out;
}

void Recorder::accept() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  const auto key = ++made_;
  auto& session = *(sessions_[key] = std::make_unique<Session>());
  session.wire = Wire::adopt(loop_, fd);
  session.reader.on_head = [&session](const Head& head) { session.request = {head, {}}; };
  session.reader.on_body = [&session](std::string_view bytes) {
    session.request.body.append(bytes);
  };
  session.reader.on_end = [this, &session] { whole(session); };
  session.wire->on.bytes = [this, key](std::string_view bytes) { arrived(key, bytes); };
  session.wire->on.end = [this, key](int) {
    loop_.later([this, key] {
      const auto found = sessions_.find(key);
      if (found == sessions_.end()) return;
      if (!found->second->bytes.empty()) seen_.bytes.push_back(found->second->bytes);
      sessions_.erase(found);
    });
  };
  if (!played_ && script_.on_accept) play(session);
}

void Recorder::arrived(std::uint64_t key, std::string_view bytes) {
  auto& session = *sessions_.at(key);
  session.bytes.append(bytes);
  // Some cases answer before the request has ended: at the end of its head.
  if (!played_ && !script_.when_idle && session.bytes.find("\r\n\r\n") != std::string::npos) {
    play(session);
  }
  if (!session.reader.feed(bytes)) session.wire->reset();
}

void Recorder::whole(Session& session) {
  seen_.requests.push_back(session.request);
  if (std::exchange(session.scripted, false)) return;  // it has its answer
  const bool bare = session.request.head.method() == "HEAD";
  session.wire->send(std::string("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n") +
                     (bare ? "" : "fine"));
  if (!played_ && script_.when_idle) {
    played_ = true;
    loop_.after(milliseconds(100), [this, &session] {
      for (const auto& [key, one] : sessions_) {
        if (one.get() == &session) return play(session);
      }
    });
  }
}

void Recorder::play(Session& session) {
  played_ = true;
  session.scripted = !script_.when_idle && !script_.on_accept;
  for (const auto& piece : script_.pieces) session.wire->send(piece);
  if (script_.after == "fin") session.wire->shutdown_write();
  if (script_.after == "rst") {
    loop_.after(milliseconds(30), [weak = std::weak_ptr(session.wire)] {
      if (const auto wire = weak.lock()) wire->reset();
    });
  }
}

}  // namespace steelyard::rigs
