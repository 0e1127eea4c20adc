#include "steelyard/http/http1.h"
#include "steelyard/http/http1_credit.h"
#include "steelyard/http/http1_reader.h"
#include "steelyard/http/http1_writer.h"
#include "steelyard/http/list.h"

namespace steelyard::http {
namespace {

constexpr unsigned kMaxInterim =
    32;  // heads of 1xx before the final one; a storm of them is an attack

// The value of Upgrade in a head that is sent.
std::string_view upgrade_of(std::string_view head) noexcept {
  constexpr std::string_view kName = "upgrade:";
  for (std::size_t lf = head.find('\n'); lf != std::string_view::npos;
       lf = head.find('\n', lf + 1)) {
    const std::string_view line = head.substr(lf + 1);
    if (line.size() <= kName.size() || !same_word(line.substr(0, kName.size()), kName)) continue;
    return trim_blanks(line.substr(kName.size(), line.find('\r') - kName.size()));
  }
  return {};
}

class Http1Client final : public ClientCodec {
 public:
  Http1Client(std::shared_ptr<Http1Pool> pool, CodecEvents& events) noexcept
      : pool_(std::move(pool)),
        events_(&events),
        reader_(*pool_, ScanKind::kResponse),
        writer_(events) {}

  void start() noexcept override { top_up(); }
  void receive(base::Buf bytes) noexcept override;
  void receive_end() noexcept override;
  void receive_failed() noexcept override;
  void resume() noexcept override {}
  StreamId open() noexcept override;
  bool can_open() const noexcept override { return !closed_ && !live_ && keep_ && !draining_; }
  void send_head(StreamId id, OutHead head) noexcept override;
  void send_body(StreamId id, base::Buf bytes) noexcept override {
    if (writes(id)) writer_.body(std::move(bytes));
  }
  void send_trailers(StreamId id, std::span<const Field> fields) noexcept override {
    if (writes(id)) writer_.trailers(fields);
  }
  void send_end(StreamId id) noexcept override;
  void reset(StreamId id, Why) noexcept override {
    if (!is_live(id)) return;
    live_ = false;
    close(Close::kAbort);
  }
  void grant(StreamId id, std::size_t bytes) noexcept override {
    if (!is_live(id) || answer_over_) return;
    meter_.grant(bytes);
    if (!running_) top_up();
  }
  std::size_t unsent(StreamId) const noexcept override { return 0; }
  void drain() noexcept override {
    draining_ = true;
    if (!live_) close(Close::kLinger);
  }
  bool closed() const noexcept override { return closed_; }
  std::size_t streams() const noexcept override { return live_ ? 1 : 0; }

 private:
  [[nodiscard]] bool is_live(StreamId id) const noexcept { return !closed_ && live_ && id == id_; }
  [[nodiscard]] bool writes(StreamId id) const noexcept {
    return is_live(id) && head_sent_ && !request_over_;
  }
  void top_up() noexcept {
    if (const std::size_t more = meter_.top_up(); more > 0) events_->on_credit(more);
  }
  void read() noexcept;
  void on_answer_head(const Head& head) noexcept;
  void on_answer_end() noexcept;
  void fail(const Reset& why) noexcept;
  void finish() noexcept;
  void close(Close how) noexcept {
    if (closed_) return;
    closed_ = true;
    live_ = false;
    events_->on_close(how);
  }

  std::shared_ptr<Http1Pool> pool_;
  CodecEvents* events_;
  Http1Reader reader_;
  Http1Writer writer_;
  CreditMeter meter_;
  base::Buf asked_;  // the request's head while its answer may be an upgrade
  Asked told_;       // … and what the reader must know of it
  StreamId id_ = StreamId::kNone;
  unsigned interim_ = 0;
  bool live_ = false;
  bool head_sent_ = false;
  bool head_came_ = false;  // the final head
  bool request_over_ = false;
  bool answer_over_ = false;
  bool tunnel_ = false;
  bool keep_ = true;
  bool ended_ = false;  // the node's FIN is here
  bool draining_ = false;
  bool closed_ = false;
  bool running_ = false;
};

StreamId Http1Client::open() noexcept {
  if (!can_open()) return StreamId::kNone;
  id_ = StreamId{static_cast<std::uint32_t>(id_) + 1};
  live_ = true;
  head_sent_ = head_came_ = request_over_ = answer_over_ = tunnel_ = false;
  interim_ = 0;
  return id_;
}

void Http1Client::send_head(StreamId id, OutHead head) noexcept {
  if (!is_live(id) || head_sent_) return;
  head_sent_ = true;
  if (head.upgrade) asked_ = head.bytes.share();
  told_ = {head.method, head.upgrade ? upgrade_of(asked_.text()) : std::string_view()};
  reader_.begin(&told_);
  meter_.begin();
  Http1Writer::Mode mode = Http1Writer::Mode::kNothing;
  if (head.body == Body::kLength) mode = Http1Writer::Mode::kLength;
  if (head.body == Body::kStream) mode = Http1Writer::Mode::kChunked;
  using Say = Http1Writer::Say;
  const Say say = head.upgrade ? (head.trailers ? Say::kUpgradeTe : Say::kUpgrade)
                               : (head.trailers ? Say::kTe : Say::kNothing);
  writer_.head(std::move(head.bytes), mode, head.length, say);
  if (!running_) top_up();
}

void Http1Client::send_end(StreamId id) noexcept {
  if (!writes(id)) return;
  if (!writer_.complete()) {
    live_ = false;
    close(Close::kAbort);
    return;
  }
  writer_.end();
  request_over_ = true;
  if (!answer_over_) {
    if (tunnel_) events_->on_output_end();
    return;
  }
  live_ = false;
  if (!running_) finish();
}

void Http1Client::receive(base::Buf bytes) noexcept {
  if (closed_) return;
  meter_.received(bytes.size());
  if (!live_) {  // nobody asked: whatever this is, the next request must not get it
    close(Close::kAbort);
    return;
  }
  if (!head_sent_) {
    fail({Why::kProtocol, 502, "an answer before the request"});
    return;
  }
  reader_.add(std::move(bytes));
  running_ = true;
  read();
  running_ = false;
  if (!closed_ && !live_ && answer_over_) finish();
  if (!closed_) top_up();
}

void Http1Client::read() noexcept {
  while (!closed_ && live_ && !answer_over_) {
    switch (reader_.next()) {
      case Http1Reader::Got::kMore:
        return;
      case Http1Reader::Got::kHead:
        on_answer_head(reader_.head());
        reader_.let_lines_go();
        break;
      case Http1Reader::Got::kBody: {
        base::Buf bytes = reader_.take_body();
        meter_.delivered(bytes.size());
        events_->on_body(id_, std::move(bytes));
        break;
      }
      case Http1Reader::Got::kTrailers:
        events_->on_trailers(id_, reader_.trailers());
        reader_.let_lines_go();
        break;
      case Http1Reader::Got::kEnd:
        on_answer_end();
        break;
      case Http1Reader::Got::kBad:
        fail(reader_.bad());
        return;
    }
  }
}

void Http1Client::on_answer_head(const Head& head) noexcept {
  if (head.is_interim()) {
    if (++interim_ > kMaxInterim) {
      fail({Why::kProtocol, 502, "too many interim answers"});
      return;
    }
  } else {
    head_came_ = true;
    keep_ = head.keep_alive;
    if (head.body == Body::kTunnel) {
      if (!request_over_) {
        fail({Why::kProtocol, 502, "a tunnel before the end of the request"});
        return;
      }
      tunnel_ = true;
      request_over_ = false;
      writer_.tunnel();
    }
  }
  events_->on_head(id_, head);
  if (!head.is_interim()) asked_ = {};
}

void Http1Client::on_answer_end() noexcept {
  answer_over_ = true;
  // Decided before the event, so that can_open() is right inside it. Bytes behind the answer are
  // poison.
  if (reader_.has_more() || !request_over_) keep_ = false;
  if (request_over_) live_ = false;
  events_->on_end(id_);
}

// Both halves are over: back to the pool, or closed.
void Http1Client::finish() noexcept {
  if (reader_.has_more()) {
    close(Close::kAbort);
  } else if (!keep_ || draining_ || ended_) {
    close(Close::kLinger);
  }
}

void Http1Client::fail(const Reset& why) noexcept {
  keep_ = false;
  if (live_) {
    live_ = false;
    events_->on_reset(id_, why);
  }
  close(Close::kAbort);
}

void Http1Client::receive_end() noexcept {
  if (closed_ || ended_) return;
  ended_ = true;
  keep_ = false;
  if (!live_) {
    close(Close::kLinger);
    return;
  }
  if (answer_over_) return;
  if (!head_sent_) {
    fail({Why::kClosed, 502, "the node closed the connection"});
    return;
  }
  running_ = true;
  const Http1Reader::Got got = reader_.finish();
  if (got == Http1Reader::Got::kEnd) on_answer_end();
  running_ = false;
  if (got == Http1Reader::Got::kBad) {
    Reset why = reader_.bad();
    if (!head_came_ && interim_ > 0) why.why = Why::kTruncated;
    fail(why);
  } else if (!closed_ && !live_) {
    finish();
  }
}

void Http1Client::receive_failed() noexcept {
  if (closed_) return;
  closed_ = true;
  if (!live_) return;
  live_ = false;
  const bool nothing = !head_came_ && interim_ == 0 && (!head_sent_ || reader_.untouched());
  events_->on_reset(id_,
                    {nothing ? Why::kClosed : Why::kTruncated, 502, "the node's connection broke"});
}

}  // namespace

std::unique_ptr<ClientCodec> make_http1_client(std::shared_ptr<Http1Pool> pool,
                                               CodecEvents& events) {
  return std::make_unique<Http1Client>(std::move(pool), events);
}

}  // namespace steelyard::http
