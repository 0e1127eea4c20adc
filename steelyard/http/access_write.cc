// Lines of the access log. Text: the parts of the format in order. JSON: numbers and short words
// first, what a client can make long last, so that a cut takes little.

#include "steelyard/http/access_write.h"

#include <array>

#include "steelyard/http/access_log.h"
#include "steelyard/http/line_out.h"
#include "steelyard/http/lookup.h"

namespace steelyard::http {
namespace {

using access::Name;
using Time = std::chrono::sys_time<std::chrono::milliseconds>;

constexpr std::string_view kCutText = " [cut]\n";
constexpr std::string_view kCutJson = ",\"truncated\":true}\n";

struct Calendar {
  std::uint64_t year, month, day, hour, minute, second, millisecond;
};

Calendar calendar_of(Time time) noexcept {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto ms = static_cast<std::uint64_t>((time - day).count());
  return {static_cast<std::uint64_t>(static_cast<int>(date.year())),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          ms / 3'600'000,
          ms / 60'000 % 60,
          ms / 1000 % 60,
          ms % 1000};
}

void put_clock(const Calendar& at, LineOut& out) noexcept {
  out.padded(at.hour, 2).put(":").padded(at.minute, 2).put(":").padded(at.second, 2);
}

void put_offset(std::chrono::minutes offset, std::string_view between, LineOut& out) noexcept {
  const auto minutes = static_cast<std::uint64_t>(std::chrono::abs(offset).count());
  out.put(offset.count() < 0 ? "-" : "+")
      .padded(minutes / 60, 2)
      .put(between)
      .padded(minutes % 60, 2);
}

void put_local(const AccessRecord& record, LineOut& out) noexcept {
  static constexpr std::array<std::string_view, 12> kMonths{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Calendar at = calendar_of(record.time + record.utc_offset);
  out.padded(at.day, 2).put("/").put(kMonths[at.month - 1]).put("/").padded(at.year, 4).put(":");
  put_clock(at, out);
  put_offset(record.utc_offset, "", out.put(" "));
}

void put_date(const Calendar& at, LineOut& out) noexcept {
  out.padded(at.year, 4).put("-").padded(at.month, 2).put("-").padded(at.day, 2).put("T");
  put_clock(at, out);
}

std::uint64_t milliseconds(base::Duration d) noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
}
std::uint64_t microseconds(base::Duration d) noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(d).count());
}

// One value into a text line, in the escape that was asked for.
class Values {
 public:
  Values(LineOut& out, AccessEscape escape, const SecretArguments& secrets) noexcept
      : out_(&out), escape_(escape), secrets_(&secrets) {}

  void bytes(std::string_view value) noexcept {
    escape_ == AccessEscape::kText ? out_->text(value) : out_->json(value);
  }
  void unknown() noexcept {
    if (escape_ == AccessEscape::kText) out_->put("-");
  }
  // What stands before the last one of a list.
  void before(std::string_view others) noexcept {
    if (others.empty()) return;
    bytes(others);
    out_->put(", ");
  }
  void value(std::string_view value) noexcept { value.empty() ? unknown() : bytes(value); }
  void url(std::string_view value) noexcept {
    if (value.empty()) return unknown();
    secrets_->split(value, [&](std::string_view piece, bool secret) {
      secret ? void(out_->put(kRedacted)) : bytes(piece);
    });
  }
  void time(const std::optional<base::Duration>& time) noexcept {
    time && time->count() >= 0 ? void(out_->thousandths(milliseconds(*time))) : unknown();
  }
  void number(std::uint64_t value, bool known = true) noexcept {
    known ? void(out_->number(value)) : unknown();
  }
  void request(const AccessRecord& record) noexcept {
    if (record.method.empty()) return unknown();
    bytes(record.method);
    out_->put(" ");
    url(record.target);
    if (record.protocol.empty()) return;  // the line was cut
    out_->put(" ");
    bytes(record.protocol);
  }
  void argument(const AccessRecord& record, std::string_view name) noexcept {
    const std::size_t mark = record.target.find('?');
    if (mark == std::string_view::npos) return unknown();
    const auto found = query_argument(record.target.substr(mark + 1), name);
    if (!found) return unknown();
    secrets_->contains(name) ? void(out_->put(kRedacted)) : url(*found);
  }
  // The query is redacted as a part of the target.
  void query(std::string_view target) noexcept {
    const std::size_t mark = target.find('?');
    if (mark == std::string_view::npos || mark + 1 == target.size()) return unknown();
    bool first = true;
    secrets_->split(target.substr(mark), [&](std::string_view piece, bool secret) {
      if (std::exchange(first, false)) return;  // the question mark
      secret ? void(out_->put(kRedacted)) : bytes(piece);
    });
  }

 private:
  LineOut* out_;
  AccessEscape escape_;
  const SecretArguments* secrets_;
};

// What is known of the attempt that answered.
void put_attempt(const AccessRecord& r, Name variable, Values& to) noexcept {
  switch (variable) {
    case Name::kNode:
      return to.value(r.node);
    case Name::kPickReason:
      return to.value(r.pick_reason);
    case Name::kReason:
      return to.value(r.reason);
    case Name::kAttempts:
    case Name::kTries:
      return to.number(r.tries);
    case Name::kUpstream:
      return to.value(r.upstream);
    case Name::kUpstreamAddr:
      to.before(r.earlier_addresses);
      return to.value(r.node_address);
    case Name::kUpstreamConnectTime:
      return to.time(r.connect_time);
    case Name::kUpstreamHeaderTime:
      return to.time(r.head_time);
    case Name::kUpstreamResponseTime:
      return to.time(r.answer_time);
    case Name::kUpstreamStatus:
      to.before(r.earlier_statuses);
      return to.number(r.node_status.value_or(0), r.node_status.has_value());
    default:  // arg_, http_, sent_http_ have names of their own: see write_text
      break;
  }
}

void put_variable(const AccessRecord& r, Name variable, LineOut& out, Values& to) noexcept {
  switch (variable) {
    case Name::kArgs:
    case Name::kQueryString:
      return to.query(r.target);
    case Name::kBodyBytesSent:
      return to.number(r.body_bytes_out);
    case Name::kBytesSent:
      return to.number(r.bytes_out);
    case Name::kDetail:
      return to.value(r.detail);
    case Name::kHost:
      return to.value(r.host);
    case Name::kMsec:
      return void(out.thousandths(static_cast<std::uint64_t>(r.time.time_since_epoch().count())));
    case Name::kRemoteAddr:
      return to.value(r.client_ip);
    case Name::kRemotePort:
      return to.number(r.client_port, r.client_port != 0);
    case Name::kRemoteUser:
      return to.unknown();
    case Name::kRequest:
      return to.request(r);
    case Name::kRequestId:
      return to.value(r.request_id);
    case Name::kRequestLength:
      return to.number(r.bytes_in);
    case Name::kRequestMethod:
      return to.value(r.method);
    case Name::kRequestTime:
      return to.time(r.duration);
    case Name::kRequestUri:
      return to.url(r.target);
    case Name::kScheme:
      return to.value(r.scheme);
    case Name::kServerAddr:
      return to.value(r.listener);
    case Name::kServerProtocol:
      return to.value(r.protocol);
    case Name::kSslCipher:
      return to.value(r.tls_cipher);
    case Name::kSslProtocol:
      return to.value(r.tls_protocol);
    case Name::kStatus:
      return to.number(r.status, r.status != 0);
    case Name::kTimeIso8601:
      put_date(calendar_of(r.time + r.utc_offset), out);
      return put_offset(r.utc_offset, ":", out);
    case Name::kTimeLocal:
      return put_local(r, out);
    case Name::kTraceId:
      return to.value(r.trace_id);
    case Name::kUri:
      return to.url(r.target.substr(0, r.target.find('?')));
    default:
      return put_attempt(r, variable, to);
  }
}

class JsonLine {
 public:
  JsonLine(std::span<char> out, const SecretArguments& secrets) noexcept
      : out_(out, kCutJson.size() + 1), secrets_(&secrets) {}  // + 1: a quote that is open

  void text(std::string_view name, std::string_view value) noexcept {
    if (value.empty() || !key(name, 1)) return;
    out_.put("\"").json(value);
    close_text();
  }
  void url(std::string_view name, std::string_view value) noexcept {
    if (value.empty() || !key(name, 1)) return;
    out_.put("\"");
    secrets_->split(value, [&](std::string_view piece, bool secret) {
      secret ? out_.put(kRedacted) : out_.json(piece);
    });
    close_text();
  }
  void number(std::string_view name, std::uint64_t value) noexcept {
    if (key(name, 20)) out_.number(value);
  }
  void milliseconds(std::string_view name, const std::optional<base::Duration>& time) noexcept {
    if (time && time->count() >= 0 && key(name, 24)) out_.thousandths(microseconds(*time));
  }
  void time(const AccessRecord& record) noexcept {
    const Calendar at = calendar_of(record.time);
    if (!key("ts", 28)) return;
    put_date(at, out_.put("\""));
    out_.put(".").padded(at.millisecond, 3).put("Z\"");
  }
  std::size_t finish() noexcept {
    if (!any_) return out_.finish("{\"truncated\":true}\n");
    return out_.finish(out_.cut() ? kCutJson : "}\n");
  }

 private:
  // Begins a member whose value takes at least `least` bytes; false: no room for it.
  bool key(std::string_view name, std::size_t least) noexcept {
    if (out_.room() < name.size() + 4 + least) {
      out_.set_cut();
      return false;
    }
    out_.put(any_ ? "," : "{").put("\"").put(name).put("\":");
    any_ = true;
    return true;
  }
  void close_text() noexcept { out_.force('"'); }

  LineOut out_;
  const SecretArguments* secrets_;
  bool any_ = false;
};

}  // namespace

std::size_t AccessFormat::write_text(const AccessRecord& record,
                                     std::span<char> out) const noexcept {
  LineOut line(out, kCutText.size());
  Values values(line, escape_, secrets_);
  const auto field = [&](std::span<const std::optional<std::string_view>> given, const Part& part) {
    if (part.field >= given.size() || !given[part.field]) return values.unknown();
    if (part.secret) return void(line.put(kRedacted));
    values.url(*given[part.field]);  // many fields hold addresses, and none suffers
  };
  for (const Part& part : parts_) {
    if (line.cut()) break;
    if (part.variable == kLiteral) {
      line.put(part.text);
      continue;
    }
    switch (const auto variable = static_cast<Name>(part.variable); variable) {
      case Name::kArg:
        values.argument(record, part.text);
        break;
      case Name::kHttp:
        field(record.request_fields, part);
        break;
      case Name::kSentHttp:
        field(record.answer_fields, part);
        break;
      default:
        put_variable(record, variable, line, values);
        break;
    }
  }
  return line.finish(line.cut() ? kCutText : "\n");
}

std::size_t AccessFormat::write_json(const AccessRecord& r, std::span<char> out) const noexcept {
  JsonLine line(out, secrets_);
  const auto field = [&](std::size_t i) {
    return i < r.request_fields.size() ? r.request_fields[i].value_or("") : std::string_view();
  };
  line.time(r);
  line.text("level", "info");
  line.text("msg", "request");
  line.text("client_ip", r.client_ip);
  if (r.status != 0) line.number("status", r.status);
  line.number("bytes_in", r.bytes_in);
  line.number("bytes_out", r.bytes_out);
  line.milliseconds("duration_ms", r.duration);
  line.text("method", r.method);
  line.text("proto", r.protocol);
  line.text("scheme", r.scheme);
  line.text("tls_version", r.tls_protocol);
  line.text("tls_cipher", r.tls_cipher);
  line.text("listener", r.listener);
  line.text("upstream", r.upstream);
  line.text("node", r.node);
  line.text("upstream_addr", r.node_address);
  if (r.node_status) line.number("upstream_status", *r.node_status);
  line.milliseconds("upstream_connect_ms", r.connect_time);
  line.milliseconds("upstream_header_ms", r.head_time);
  line.milliseconds("upstream_response_ms", r.answer_time);
  line.number("attempts", r.tries);
  line.text("earlier_addr", r.earlier_addresses);
  line.text("earlier_status", r.earlier_statuses);
  line.text("pick_reason", r.pick_reason);
  line.text("reason", r.reason);
  line.text("detail", r.detail);
  line.text("request_id", r.request_id);
  line.text("trace_id", r.trace_id);
  line.text("host", r.host);
  line.url("uri", r.target);
  if (!r.answer_fields.empty()) line.text("content_type", r.answer_fields[0].value_or(""));
  line.url("referer", field(0));
  line.url("user_agent", field(1));
  return line.finish();
}

}  // namespace steelyard::http
