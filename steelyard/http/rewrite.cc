#include "steelyard/http/rewrite.h"

#include <charconv>
#include <cstring>

#include "steelyard/http/chars.h"
#include "steelyard/http/list.h"

namespace steelyard::http {
namespace {

constexpr std::size_t kLongestNumber = 20;

class Out {
 public:
  explicit Out(char* at) noexcept : begin_(at), at_(at) {}
  Out& put(std::string_view text) noexcept {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  Out& number(std::uint64_t value) noexcept {
    at_ = std::to_chars(at_, at_ + kLongestNumber, value).ptr;
    return *this;
  }
  Out& field(std::string_view name, std::string_view value) noexcept {
    return put(name).put(": ").put(value).put("\r\n");
  }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

 private:
  char* begin_;
  char* at_;
};

std::size_t fields_size(std::span<const Field> fields) noexcept {
  std::size_t size = 0;
  for (const Field& field : fields) size += field.name.size() + field.value.size() + 4;
  return size;
}

bool is_set(const Field& field, std::span<const Field> set) noexcept {
  for (const Field& ours : set) {
    if (same_word(field.name, ours.name)) return true;
  }
  return false;
}

// An address as RFC 7239 6 and X-Forwarded-For have it: letters for names that hide, brackets,
// ports.
bool is_forwarded_item(std::string_view item) noexcept {
  for (const char c : item) {
    if (!is_char(c, kHostName) && c != ':' && c != '[' && c != ']' && c != '%' && c != '"')
      return false;
  }
  return !item.empty();
}

// What follows the last item of `list` that is no address; all of it when every one is.
std::string_view good_end(std::string_view list) noexcept {
  std::string_view good = list;
  for (std::string_view rest = list;;) {
    const std::size_t comma = rest.find(',');
    const bool fine = is_forwarded_item(trim_blanks(rest.substr(0, comma)));
    if (comma == std::string_view::npos) return trim_blanks(fine ? good : rest.substr(rest.size()));
    rest.remove_prefix(comma + 1);
    if (!fine) good = rest;
  }
}

// What came from a trusted peer stays in front, in order, as far as it is well-formed; the peer is
// the last one, which alone we vouch for.
void put_forwarded_for(const Head& head, const RequestEdits& edits, Out& out) noexcept {
  const Out start = out;
  bool first = true;
  const auto put = [&](std::string_view items) {
    if (items.empty()) return;
    out.put(first ? "X-Forwarded-For: " : ", ").put(items);
    first = false;
  };
  for (const Field& field : head.fields) {
    if (field.id != FieldId::kXForwardedFor || field.drop || !edits.trust_forwarded) continue;
    const std::string_view good = good_end(field.value);
    if (good.size() < field.value.size()) {  // something bad: what stands before it goes too
      out = start;
      first = true;
    }
    put(good);
  }
  put(edits.peer_ip);
  if (!first) out.put("\r\n");
}

// The protocols asked for but h2c, which is the connection's own business.
void put_upgrade(std::string_view list, Out& out) noexcept {
  bool first = true;
  for_each_item(list, [&](std::string_view item) {
    if (same_word(item, "h2c")) return true;
    out.put(first ? "Upgrade: " : ",").put(item);
    first = false;
    return true;
  });
  if (!first) out.put("\r\n");
}

}  // namespace

std::size_t request_bound(const Head& head, const RequestEdits& edits) noexcept {
  constexpr std::size_t kOurNames = 256;  // start line, our field names and separators, a number
  return head.method_text.size() + head.path.size() + 2 * head.authority.size() +
         fields_size(head.fields) + fields_size(edits.set) + edits.traceparent.size() + kOurNames +
         edits.peer_ip.size() + edits.host.size() + edits.scheme.size() + edits.request_id.size() +
         edits.via.size();
}

std::size_t write_request(const Head& head, const RequestEdits& edits, char* to) noexcept {
  Out out(to);
  out.put(head.method_text).put(" ");
  if (head.method == Method::kConnect) {
    out.put(head.authority);
  } else {
    if (head.path.empty() || head.path.front() == '?') out.put("/");
    out.put(head.path);
  }
  out.put(" HTTP/1.1\r\n");
  out.field("Host", head.authority.empty() ? edits.host : head.authority);
  bool proto = false;
  bool host = false;
  for (const Field& field : head.fields) {
    if (field.drop) continue;
    switch (field.id) {
      case FieldId::kHost:
      case FieldId::kContentLength:
      case FieldId::kXForwardedFor:
        continue;
      case FieldId::kXForwardedPort:
      case FieldId::kXRealIp:
      case FieldId::kForwarded:
        if (!edits.trust_forwarded) continue;
        break;
      case FieldId::kXForwardedProto:
        if (!edits.trust_forwarded) continue;
        proto = true;
        break;
      case FieldId::kXForwardedHost:
        if (!edits.trust_forwarded) continue;
        host = true;
        break;
      case FieldId::kXRequestId:
        if (!edits.request_id.empty()) continue;
        break;
      case FieldId::kTraceParent:
        if (!edits.traceparent.empty()) continue;
        break;
      case FieldId::kTraceState:
        if (!edits.traceparent.empty() && edits.new_trace) continue;
        break;
      default:
        break;
    }
    if (!edits.set.empty() && is_set(field, edits.set)) continue;
    out.field(field.name, field.value);
  }
  for (const Field& field : edits.set) out.field(field.name, field.value);
  if (head.body == Body::kLength) out.put("Content-Length: ").number(head.length).put("\r\n");
  if (edits.upgrade) put_upgrade(head.upgrade, out);
  if (edits.trailers) out.put("TE: trailers\r\n");
  put_forwarded_for(head, edits, out);
  if (!proto && !edits.scheme.empty()) out.field("X-Forwarded-Proto", edits.scheme);
  if (!host && !head.authority.empty()) out.field("X-Forwarded-Host", head.authority);
  if (!edits.request_id.empty()) out.field("X-Request-Id", edits.request_id);
  if (!edits.traceparent.empty()) out.field("traceparent", edits.traceparent);
  if (!edits.via.empty()) {
    out.put(head.version == Version::k10   ? "Via: 1.0 "
            : head.version == Version::k11 ? "Via: 1.1 "
                                           : "Via: 2.0 ");
    out.put(edits.via).put("\r\n");
  }
  out.put("\r\n");
  return out.size();
}

std::size_t response_bound(const Head& head, const AnswerEdits& edits) noexcept {
  return head.reason.size() + fields_size(head.fields) + fields_size(edits.set) +
         fields_size(edits.add) + 64;
}

std::size_t write_response(const Head& head, char* to, const AnswerEdits& edits) noexcept {
  Out out(to);
  out.put("HTTP/1.1 ").number(head.status).put(" ").put(head.reason).put("\r\n");
  for (const Field& field : head.fields) {
    if (field.drop || field.id == FieldId::kContentLength) continue;
    if (!edits.set.empty() && is_set(field, edits.set)) continue;
    out.field(field.name, field.value);
  }
  for (const Field& field : edits.set) out.field(field.name, field.value);
  for (const Field& field : edits.add) out.field(field.name, field.value);
  if (head.body == Body::kTunnel && head.status == 101) out.field("Upgrade", head.upgrade);
  // RFC 9110 8.6: not in 1xx and 204; to HEAD and in 304 it tells what a GET would have got.
  const bool may_tell = head.status != 204 && !head.is_interim() && head.body != Body::kStream;
  if (head.has_length && may_tell) out.put("Content-Length: ").number(head.length).put("\r\n");
  out.put("\r\n");
  return out.size();
}

bool takes_trailers(const Head& head) noexcept {
  if (head.version == Version::k10) return false;
  bool found = false;
  for (const Field& field : head.fields) {
    if (field.id != FieldId::kTe) continue;
    for_each_item(field.value, [&](std::string_view item) {
      found = found || same_word(trim_blanks(item.substr(0, item.find(';'))), "trailers");
      return true;
    });
  }
  return found;
}

OutHead out_facts(const Head& head) noexcept {
  OutHead out;
  out.method = head.method;
  out.status = head.status;
  out.body = head.body;
  out.length = head.length;
  return out;
}

std::size_t write_answer_head(std::uint16_t status, std::string_view content_type,
                              std::size_t length, char* to) noexcept {
  Out out(to);
  out.put("HTTP/1.1 ").number(status).put(" ").put(reason_phrase(status)).put("\r\n");
  if (!content_type.empty()) out.field("Content-Type", content_type.substr(0, 128));
  if (status != 204 && status != 304) out.put("Content-Length: ").number(length).put("\r\n");
  out.put("\r\n");
  return out.size();
}

std::string_view reason_phrase(std::uint16_t status) noexcept {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

std::string_view error_answer(std::uint16_t status) noexcept {
  switch (status) {
    case 405:
      return "HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD, POST, PUT, PATCH, DELETE, "
             "OPTIONS\r\n"
             "Content-Type: text/plain\r\nContent-Length: 23\r\nConnection: close\r\n\r\n405 "
             "Method Not Allowed\n";
    case 408:
      return "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\nContent-Length: 20\r\n"
             "Connection: close\r\n\r\n408 Request Timeout\n";
    case 413:
      return "HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain\r\nContent-Length: 22\r\n"
             "Connection: close\r\n\r\n413 Content Too Large\n";
    case 414:
      return "HTTP/1.1 414 URI Too Long\r\nContent-Type: text/plain\r\nContent-Length: 17\r\n"
             "Connection: close\r\n\r\n414 URI Too Long\n";
    case 431:
      return "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: "
             "text/plain\r\nContent-Length: 36\r\n"
             "Connection: close\r\n\r\n431 Request Header Fields Too Large\n";
    case 501:
      return "HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain\r\nContent-Length: 20\r\n"
             "Connection: close\r\n\r\n501 Not Implemented\n";
    case 503:
      return "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: "
             "24\r\nRetry-After: 1\r\n"
             "Connection: close\r\n\r\n503 Service Unavailable\n";
    case 505:
      return "HTTP/1.1 505 HTTP Version Not Supported\r\nContent-Type: "
             "text/plain\r\nContent-Length: 31\r\n"
             "Connection: close\r\n\r\n505 HTTP Version Not Supported\n";
    default:
      return "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 16\r\n"
             "Connection: close\r\n\r\n400 Bad Request\n";
  }
}

}  // namespace steelyard::http
