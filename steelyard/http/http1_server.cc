#include <algorithm>

#include "steelyard/http/http1.h"
#include "steelyard/http/http1_credit.h"
#include "steelyard/http/http1_reader.h"
#include "steelyard/http/http1_writer.h"
#include "steelyard/http/rewrite.h"

namespace steelyard::http {
namespace {

constexpr std::uint64_t kMaxDiscard = std::uint64_t{64}
                                      << 10;  // of a body nobody wants, to save the connection

class Http1Server final : public ServerCodec {
 public:
  Http1Server(std::shared_ptr<Http1Pool> pool, CodecEvents& events) noexcept
      : pool_(std::move(pool)),
        events_(&events),
        reader_(*pool_, ScanKind::kRequest),
        writer_(events) {}

  void start() noexcept override { top_up(); }
  void receive(base::Buf bytes) noexcept override {
    if (closed_) return;
    meter_.received(bytes.size());
    reader_.add(std::move(bytes));
    run();
  }
  void receive_end() noexcept override;
  void receive_failed() noexcept override;
  void resume() noexcept override {
    if (!closed_) run();
  }
  void send_head(StreamId id, OutHead head) noexcept override;
  void send_body(StreamId id, base::Buf bytes) noexcept override {
    if (answers(id) && answer_ == Answer::kBody) writer_.body(std::move(bytes));
  }
  void send_trailers(StreamId id, std::span<const Field> fields) noexcept override {
    if (answers(id) && answer_ == Answer::kBody) writer_.trailers(fields);
  }
  void send_end(StreamId id) noexcept override;
  void reset(StreamId id, Why) noexcept override {
    if (answers(id)) close(Close::kAbort);
  }
  void grant(StreamId id, std::size_t bytes) noexcept override {
    if (!answers(id) || request_over_) return;
    meter_.grant(bytes);
    if (!running_) top_up();
  }
  std::size_t unsent(StreamId) const noexcept override { return 0; }
  void drain() noexcept override {
    draining_ = true;
    if (idle()) close(Close::kLinger);
  }
  bool closed() const noexcept override { return closed_; }
  std::size_t streams() const noexcept override { return live_ ? 1 : 0; }
  bool idle() const noexcept override { return !live_ && !discarding_ && reader_.untouched(); }
  std::size_t held() const noexcept override { return reader_.held(); }
  std::size_t unread() const noexcept override { return reader_.unread(); }
  void refuse(std::uint16_t status, std::string_view text) noexcept override {
    if (closed_ || live_) return;
    const bool silent = discarding_ || reader_.untouched();
    if (!silent) turn_away({Why::kLimit, status, text});
    close(Close::kLinger);
  }

 private:
  enum class Answer : std::uint8_t { kNone, kBody, kOver };
  enum class Tunnel : std::uint8_t { kNone, kSaid, kOpen };  // kSaid: before the request's on_end
  enum class Asks : std::uint8_t { kNothing, kUpgrade, kConnect };  // for a tunnel

  [[nodiscard]] bool answers(StreamId id) const noexcept { return !closed_ && live_ && id == id_; }
  void top_up() noexcept {
    if (const std::size_t more = meter_.top_up(); more > 0) events_->on_credit(more);
  }
  void run() noexcept;
  void read() noexcept;
  void on_request(const Head& head) noexcept;
  void on_bad(Reset bad) noexcept;
  void on_request_end() noexcept;
  void end_of_input() noexcept;
  void answer_error(Reset& bad) noexcept;
  void turn_away(Reset bad) noexcept {  // what is no stream yet
    answer_error(bad);
    events_->on_refused(bad, reader_.half_head());
  }
  void next_message() noexcept;
  void send_tunnel(OutHead head) noexcept;
  void enter_tunnel() noexcept;
  void close(Close how) noexcept {
    if (closed_) return;
    closed_ = true;
    live_ = false;
    reader_.drop();  // the connection may linger
    events_->on_close(how);
  }

  std::shared_ptr<Http1Pool> pool_;
  CodecEvents* events_;
  Http1Reader reader_;
  Http1Writer writer_;
  CreditMeter meter_;
  StreamId id_ = StreamId::kNone;
  Version version_ = Version::k11;
  bool head_only_ = false;  // the request was HEAD
  Answer answer_ = Answer::kNone;
  Asks asks_ = Asks::kNothing;
  Tunnel tunnel_ = Tunnel::kNone;
  bool live_ = false;  // the stream id_ exists for the driver
  bool request_over_ = false;
  bool keep_ = true;              // the connection goes on after this exchange
  bool last_ = false;             // the client said that it does not
  bool awaits_continue_ = false;  // the client may be waiting for 100 before it sends the body
  bool discarding_ = false;       // answered; the rest of the body is read and thrown away
  bool ended_ = false;            // the client's FIN is here
  bool draining_ = false;
  bool closed_ = false;
  bool running_ = false;
};

void Http1Server::run() noexcept {
  if (running_) return;
  running_ = true;
  read();
  running_ = false;
  if (!closed_ && !request_over_) top_up();
}

void Http1Server::read() noexcept {
  while (!closed_ && !request_over_) {
    switch (reader_.next()) {
      case Http1Reader::Got::kMore:
        if (ended_) end_of_input();
        return;
      case Http1Reader::Got::kHead:
        on_request(reader_.head());
        reader_.let_lines_go();
        break;
      case Http1Reader::Got::kBody: {
        base::Buf bytes = reader_.take_body();
        awaits_continue_ = false;
        meter_.delivered(bytes.size());
        if (!discarding_) {
          events_->on_body(id_, std::move(bytes));
        } else {
          meter_.grant(bytes.size());
        }
        break;
      }
      case Http1Reader::Got::kTrailers:
        if (!discarding_) events_->on_trailers(id_, reader_.trailers());
        reader_.let_lines_go();
        break;
      case Http1Reader::Got::kEnd:
        on_request_end();
        break;
      case Http1Reader::Got::kBad:
        on_bad(reader_.bad());
        return;
    }
  }
}

void Http1Server::on_request(const Head& head) noexcept {
  id_ = StreamId{static_cast<std::uint32_t>(id_) + 1};
  version_ = head.version;
  head_only_ = head.method == Method::kHead;
  keep_ = head.keep_alive;
  last_ = !keep_;
  awaits_continue_ = head.expect_continue;
  asks_ = head.method == Method::kConnect ? Asks::kConnect
          : head.upgrade.empty()          ? Asks::kNothing
                                          : Asks::kUpgrade;
  answer_ = Answer::kNone;
  tunnel_ = Tunnel::kNone;
  live_ = true;
  meter_.begin();
  events_->on_head(id_, head);
}

void Http1Server::on_request_end() noexcept {
  request_over_ = true;
  if (discarding_) {
    next_message();
    return;
  }
  const bool answered = answer_ == Answer::kOver;
  events_->on_end(id_);
  if (closed_) return;
  if (tunnel_ == Tunnel::kSaid) {
    enter_tunnel();
  } else if (answered) {
    next_message();
  }
}

void Http1Server::answer_error(Reset& bad) noexcept {
  constexpr std::string_view kDate = "Date: ";
  const std::string_view answer = error_answer(bad.status);
  const std::size_t fields = answer.find("\r\n\r\n") + 2;
  bad.told_body = static_cast<std::uint16_t>(answer.size() - fields - 2);
  base::Buf out = base::Buf::of_static(answer);
  if (const std::string_view date = events_->date(); !date.empty()) {
    const std::size_t size = answer.size() + kDate.size() + date.size() + 2;
    Room room = events_->room(size);
    char* at = room.text;
    for (const auto part :
         {answer.substr(0, fields), kDate, date, std::string_view("\r\n"), answer.substr(fields)}) {
      at = std::copy(part.begin(), part.end(), at);
    }
    out = room.buf.share(0, size);
  }
  bad.told = static_cast<std::uint16_t>(out.size());
  events_->on_output(std::move(out));
}

void Http1Server::on_bad(Reset bad) noexcept {
  const bool answer_begun = answer_ != Answer::kNone;
  const bool answer_open = answer_ == Answer::kBody;
  if (discarding_) {
    close(Close::kLinger);
  } else if (live_) {
    live_ = false;
    if (!answer_begun) answer_error(bad);
    events_->on_reset(id_, bad);
    close(answer_open ? Close::kAbort : Close::kLinger);
  } else {
    turn_away(bad);
    close(Close::kLinger);
  }
  reader_.let_lines_go();
}

void Http1Server::receive_end() noexcept {
  if (closed_ || ended_) return;
  ended_ = true;
  // Half-closed behind its request: that is answered, then we close. In a tunnel what was held back
  // comes first.
  if (tunnel_ == Tunnel::kOpen) {
    run();
  } else if (!request_over_) {
    end_of_input();
  }
}

void Http1Server::end_of_input() noexcept {
  if (!live_ && reader_.untouched()) {
    close(Close::kLinger);
    return;
  }
  const Http1Reader::Got got = reader_.finish();
  if (got == Http1Reader::Got::kBad) {
    on_bad(reader_.bad());
  } else if (got == Http1Reader::Got::kEnd) {  // of a tunnel
    on_request_end();
  }
}

void Http1Server::receive_failed() noexcept {
  if (closed_) return;
  closed_ = true;
  if (!live_) return;
  live_ = false;
  events_->on_reset(id_, {Why::kTruncated, 0, "the client's connection broke"});
}

void Http1Server::send_head(StreamId id, OutHead head) noexcept {
  if (!answers(id) || answer_ != Answer::kNone) return;
  if (head.body == Body::kTunnel) return send_tunnel(std::move(head));
  if (head.status >= 100 && head.status < 200) {
    if (version_ == Version::k10) return;  // RFC 9110 15.2
    if (head.status == 100) awaits_continue_ = false;
    events_->on_output(std::move(head.bytes));
    return;
  }
  const bool last = ended_ && !reader_.has_more();
  // An early answer: the rest of the body may not be wanted, and is too long to be thrown away.
  if (!request_over_ && !reader_.body_left_at_most(kMaxDiscard)) keep_ = false;
  keep_ = keep_ && !draining_ && !last && !awaits_continue_ && asks_ != Asks::kConnect;
  Http1Writer::Mode mode = Http1Writer::Mode::kNothing;
  if (!head_only_ && head.status != 204 && head.status != 304) {
    if (head.body == Body::kLength) {
      mode = Http1Writer::Mode::kLength;
    } else if (head.body == Body::kStream) {
      mode =
          version_ == Version::k11 ? Http1Writer::Mode::kChunked : Http1Writer::Mode::kUntilClose;
      keep_ = keep_ && mode == Http1Writer::Mode::kChunked;
    }
  }
  const auto say = !keep_                     ? Http1Writer::Say::kClose
                   : version_ == Version::k10 ? Http1Writer::Say::kKeepAlive
                                              : Http1Writer::Say::kNothing;
  answer_ = Answer::kBody;
  writer_.head(std::move(head.bytes), mode, head.length, say);
}

void Http1Server::send_tunnel(OutHead head) noexcept {
  const bool success = head.status >= 200 && head.status < 300;
  const bool asked =
      asks_ == Asks::kConnect ? success : asks_ == Asks::kUpgrade && head.status == 101;
  if (!asked) return close(Close::kAbort);
  keep_ = false;
  answer_ = Answer::kBody;
  tunnel_ = Tunnel::kSaid;
  writer_.head(std::move(head.bytes), Http1Writer::Mode::kUntilClose, 0,
               head.status == 101 ? Http1Writer::Say::kUpgrade : Http1Writer::Say::kNothing);
  if (request_over_) enter_tunnel();
}

void Http1Server::enter_tunnel() noexcept {
  tunnel_ = Tunnel::kOpen;
  request_over_ = false;
  reader_.tunnel();
  meter_.begin();
  if (running_) return;  // reading goes on
  if (reader_.has_more() || ended_) {
    events_->on_pending();
  } else {
    top_up();
  }
}

void Http1Server::send_end(StreamId id) noexcept {
  if (!answers(id) || answer_ == Answer::kOver) return;
  if (answer_ == Answer::kNone || !writer_.complete()) {
    close(Close::kAbort);
    return;
  }
  writer_.end();
  answer_ = Answer::kOver;
  if (request_over_) {
    next_message();
  } else if (tunnel_ != Tunnel::kNone) {
    events_->on_output_end();
  } else if (!keep_ || awaits_continue_) {
    close(Close::kLinger);
  } else {
    live_ = false;
    discarding_ = true;
    meter_.grant(kInitialCredit);
    if (!running_) top_up();
  }
}

// Both halves are over. What is already here is not parsed in this call: the caller may stand in
// the middle of its work.
void Http1Server::next_message() noexcept {
  live_ = discarding_ = false;
  keep_ = keep_ && !draining_;
  if (!keep_) {
    close(last_ && !reader_.has_more() ? Close::kFlush : Close::kLinger);
    return;
  }
  answer_ = Answer::kNone;
  request_over_ = false;
  reader_.begin();
  meter_.begin();
  if (reader_.has_more()) {
    if (!running_) events_->on_pending();
  } else if (ended_) {
    close(Close::kLinger);
  } else if (!running_) {
    top_up();
  }
}

}  // namespace

std::unique_ptr<ServerCodec> make_http1_server(std::shared_ptr<Http1Pool> pool,
                                               CodecEvents& events) {
  return std::make_unique<Http1Server>(std::move(pool), events);
}

}  // namespace steelyard::http
