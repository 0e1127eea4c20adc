#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <utility>

#include "steelyard/io/sim_reactor.h"

namespace steelyard::io {

namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kSendBytes = std::size_t{256} << 10;  // R5

}  // namespace

class SimReactorImpl::StreamHandle final : public Stream, public Pooled {
 public:
  StreamHandle(SimReactorImpl& reactor, RecordPtr record)
      : reactor_(reactor), record_(std::move(record)) {}
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  ~StreamHandle() override { reactor_.release(record_); }
  void grant(std::size_t bytes) noexcept override { reactor_.grant(record_, bytes); }
  void write(Buf bytes) noexcept override { reactor_.write(record_, std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const noexcept override { return record_->unsent; }
  [[nodiscard]] std::size_t unconfirmed() const noexcept override {
    return record_->unsent + (record_->socket ? record_->socket->bytes_under_way : 0);
  }
  void end_write() noexcept override {
    record_->end_wanted = true;
    reactor_.flush_soon(record_);
  }

 private:
  SimReactorImpl& reactor_;
  RecordPtr record_;
};

std::unique_ptr<Stream> SimReactorImpl::adopt(Fd socket, StreamEvents& events) {
  auto s = std::make_shared<StreamRecord>();
  s->events = &events;
  s->socket = net_.take(std::move(socket));
  assert(s->socket && "adopt of a foreign descriptor");
  ++streams_;
  ++outstanding_;
  net_.after([this, s] {
    --outstanding_;
    opened(s);
  });
  return std::unique_ptr<Stream>(new (handles_) StreamHandle(*this, s));
}

std::unique_ptr<Stream> SimReactorImpl::connect(const Address& to, const ConnectOptions& options,
                                                StreamEvents& events) {
  auto s = std::make_shared<StreamRecord>();
  s->events = &events;
  s->ours = true;
  s->connecting = true;
  s->hole = net_.is_blackhole(to);
  ++streams_;
  ++outstanding_;
  if (!s->hole) net_.after([this, s, to] { complete_connect(s, to); });
  net_.at(now_ + options.timeout, [this, weak = std::weak_ptr<StreamRecord>(s), to] {
    const RecordPtr late = weak.lock();
    if (!late || !late->connecting) return;
    if (std::exchange(late->hole, false))
      net_.after([this, late, to] { complete_connect(late, to); });
    late->connecting = false;
    fail(late, base::Code::kTimeout);
  });
  return std::unique_ptr<Stream>(new (handles_) StreamHandle(*this, s));
}

void SimReactorImpl::complete_connect(const RecordPtr& s, const Address& to) {
  --outstanding_;
  const auto listener = net_.listener_at(to);
  if (!s->connecting) {
    // Given up meanwhile, but it may have worked: then the connection existed for a moment.
    if (listener && !net_.is_blackhole(to)) net_.reset(net_.dial(listener));
    return;
  }
  s->connecting = false;
  if (!listener) return fail(s, base::Code::kRefused);
  s->socket = net_.dial(listener);
  opened(s);
}

void SimReactorImpl::opened(const RecordPtr& s) {
  if (s->events == nullptr) return;
  s->opened = true;
  s->socket->changed = [this, weak = std::weak_ptr<StreamRecord>(s)] {
    if (const auto still = weak.lock()) changed(still);
  };
  PeerInfo peer;
  peer.remote = s->socket->remote;
  peer.local = s->socket->local;
  s->events->on_open(peer);
  submit_receive(s);
  flush_soon(s);
}

// Something happened to the socket: outstanding operations may be able to finish.
void SimReactorImpl::changed(const RecordPtr& s) {
  SimSocket& socket = *s->socket;
  const bool readable = !socket.unread.empty() || socket.fin_in || socket.reset_in;
  if (s->block != nullptr && !s->receive_due && readable) {
    s->receive_due = true;
    net_.after([this, s] { complete_receive(s); });
  }
  if (s->send_out && !s->send_due && (net_.room(socket) > 0 || socket.reset_in)) {
    s->send_due = true;
    net_.after([this, s] { complete_send(s); });
  }
  fail_if_reset(s);
}

void SimReactorImpl::submit_receive(const RecordPtr& s) {
  if (s->events == nullptr || !s->opened || s->block != nullptr) return;
  if (!s->held.empty() || s->held_end || s->ended || s->failed) return;
  s->block = SimBlock::make(options_.receive_buffer, receive_bytes_);
  s->block_hold = Buf(s->block, s->block->data(), s->block->size);
  ++outstanding_;
  changed(s);
}

void SimReactorImpl::complete_receive(const RecordPtr& s) {
  --outstanding_;
  s->receive_due = false;
  SimBlock* const block = std::exchange(s->block, nullptr);
  Buf whole = std::move(s->block_hold);
  if (s->events == nullptr || s->failed) return;
  SimSocket& socket = *s->socket;
  if (!socket.unread.empty()) {
    const std::size_t most = std::min(block->size, socket.unread.size());
    const std::string bytes = net_.receive(socket, net_.part_of(most));
    std::memcpy(block->data(), bytes.data(), bytes.size());
    s->held = whole.share(0, bytes.size());
  } else if (socket.fin_in) {
    s->held_end = true;
  }
  deliver(s);
}

// Gives what is held as far as credit reaches, then looks one buffer ahead.
void SimReactorImpl::deliver(const RecordPtr& s) {
  while (s->events != nullptr && !s->failed && !s->held.empty() && s->credit > 0) {
    const std::size_t size = std::min(s->credit, s->held.size());
    Buf part = s->held.share(0, size);
    s->held.trim_front(size);
    if (s->held.empty()) s->held = {};
    s->credit -= size;
    s->events->on_bytes(std::move(part));
  }
  if (s->events == nullptr || s->failed) return;
  if (s->held.empty() && s->held_end && !s->ended) {
    s->ended = true;
    s->events->on_end();
  }
  submit_receive(s);
  fail_if_reset(s);
}

void SimReactorImpl::fail_if_reset(const RecordPtr& s) {
  if (s->events == nullptr || s->failed || s->reset_due || !s->socket || !s->socket->reset_in)
    return;
  const bool all_given =
      s->held.empty() && s->socket->unread.empty() && (s->ended || !s->socket->fin_in);
  if (s->credit > 0 && !all_given) return;  // the bytes come first
  s->reset_due = true;
  net_.after([this, s] { fail(s, base::Code::kReset); });
}

void SimReactorImpl::fail(const RecordPtr& s, base::Code code) {
  if (s->events == nullptr || s->failed) return;
  s->failed = true;
  s->held = {};
  s->out.clear();
  s->unsent = 0;
  Error error{.code = code,
              .origin = s->ours ? base::Origin::kNode : base::Origin::kClient,
              .retry_safe = s->ours && !s->opened,
              .text = {}};
  s->events->on_failed(std::move(error));
}

void SimReactorImpl::grant(const RecordPtr& s, std::size_t bytes) {
  s->credit = bytes > kMost - s->credit ? kMost : s->credit + bytes;
  if (!s->held.empty()) net_.after([this, s] { deliver(s); });
}

void SimReactorImpl::write(const RecordPtr& s, Buf bytes) {
  assert(!s->end_wanted && "write after end_write");
  if (s->failed || bytes.empty()) return;
  s->unsent += bytes.size();
  s->out.push_back(std::move(bytes));
  flush_soon(s);
}

// Once a turn, so that writes join.
void SimReactorImpl::flush_soon(const RecordPtr& s) {
  if (s->flush_due || !s->opened) return;
  s->flush_due = true;
  net_.at(net_.now(), [this, s] {
    s->flush_due = false;
    submit_send(s);
  });
}

void SimReactorImpl::submit_send(const RecordPtr& s) {
  if (s->events == nullptr || s->failed || s->send_out) return;
  std::size_t size = 0;
  for (const Buf& buf : s->sending) size += buf.size();
  while (!s->out.empty() && size < kSendBytes) {
    Buf& first = s->out.front();
    const std::size_t part = std::min(first.size(), kSendBytes - size);
    s->sending.push_back(first.share(0, part));
    first.trim_front(part);
    if (first.empty()) s->out.pop_front();
    size += part;
  }
  if (size > 0) {
    s->send_out = true;
    ++outstanding_;
    changed(s);
  } else if (s->end_wanted && !s->end_sent) {
    s->end_sent = true;
    net_.end(s->socket);
  }
}

void SimReactorImpl::complete_send(const RecordPtr& s) {
  --outstanding_;
  s->send_out = s->send_due = false;
  if (s->events == nullptr || s->failed || s->socket->reset_in) {
    s->sending.clear();
    return;
  }
  std::size_t size = 0;
  for (const Buf& buf : s->sending) size += buf.size();
  const std::size_t room = net_.room(*s->socket);
  if (room == 0) {  // somebody else's packet took it; the send stays outstanding
    s->send_out = true;
    ++outstanding_;
    return;
  }
  std::size_t left = net_.part_of(std::min(size, room));
  const std::size_t taken = left;
  std::string bytes;
  while (left > 0) {
    Buf& first = s->sending.front();
    const std::size_t part = std::min(left, first.size());
    bytes.append(first.text().substr(0, part));
    first.trim_front(part);
    if (first.empty()) s->sending.pop_front();
    left -= part;
  }
  net_.send(s->socket, std::move(bytes));
  s->unsent -= taken;
  s->events->on_sent(taken);
  flush_soon(s);
}

void SimReactorImpl::release(const RecordPtr& s) noexcept {
  --streams_;
  s->events = nullptr;
  s->held = {};
  s->out.clear();
  if (!s->send_out) s->sending.clear();
  if (std::exchange(s->hole, false)) net_.after([this] { --outstanding_; });
  s->connecting = false;
  if (s->socket) {
    if (s->failed || (s->end_wanted && s->unsent == 0)) {
      net_.close(s->socket);
    } else {
      net_.reset(s->socket);
    }
  }
  // What is outstanding is cancelled, and finishes later: until then its buffers stay.
  if (s->block != nullptr && !s->receive_due) {
    s->receive_due = true;
    net_.after([this, s] { complete_receive(s); });
  }
  if (s->send_out && !s->send_due) {
    s->send_due = true;
    net_.after([this, s] { complete_send(s); });
  }
}

}  // namespace steelyard::io
