#include "steelyard/http/rewrite.h"

#include <charconv>
#include <cstring>

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

std::size_t fields_size(const Head& head) noexcept {
  std::size_t size = 0;
  for (const Field& field : head.fields) size += field.name.size() + field.value.size() + 4;
  return size;
}

// What came stays in front, in order; the peer is the last one, which alone we vouch for.
void put_forwarded_for(const Head& head, std::string_view peer_ip, Out& out) noexcept {
  bool first = true;
  const auto item = [&](std::string_view value) {
    if (value.empty()) return;
    out.put(first ? "X-Forwarded-For: " : ", ").put(value);
    first = false;
  };
  for (const Field& field : head.fields) {
    if (field.id == FieldId::kXForwardedFor && !field.drop) item(field.value);
  }
  item(peer_ip);
  if (!first) out.put("\r\n");
}

}  // namespace

std::size_t request_bound(const Head& head, const RequestEdits& edits) noexcept {
  constexpr std::size_t kOurNames = 256;  // start line, our field names and separators, a number
  return head.method_text.size() + head.path.size() + 2 * head.authority.size() +
         fields_size(head) + kOurNames + edits.peer_ip.size() + edits.scheme.size() +
         edits.request_id.size() + edits.via.size();
}

std::size_t write_request(const Head& head, const RequestEdits& edits, char* to) noexcept {
  Out out(to);
  out.put(head.method_text).put(" ");
  if (head.path.empty() || head.path.front() == '?') out.put("/");
  out.put(head.path).put(" HTTP/1.1\r\n");
  out.field("Host", head.authority);
  bool proto = false;
  bool host = false;
  for (const Field& field : head.fields) {
    if (field.drop) continue;
    switch (field.id) {
      case FieldId::kHost:
      case FieldId::kContentLength:
      case FieldId::kXForwardedFor:
        continue;
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
      default:
        break;
    }
    out.field(field.name, field.value);
  }
  if (head.body == Body::kLength) out.put("Content-Length: ").number(head.length).put("\r\n");
  put_forwarded_for(head, edits.peer_ip, out);
  if (!proto && !edits.scheme.empty()) out.field("X-Forwarded-Proto", edits.scheme);
  if (!host && !head.authority.empty()) out.field("X-Forwarded-Host", head.authority);
  if (!edits.request_id.empty()) out.field("X-Request-Id", edits.request_id);
  if (!edits.via.empty()) {
    out.put(head.version == Version::k10   ? "Via: 1.0 "
            : head.version == Version::k11 ? "Via: 1.1 "
                                           : "Via: 2.0 ");
    out.put(edits.via).put("\r\n");
  }
  out.put("\r\n");
  return out.size();
}

std::size_t response_bound(const Head& head) noexcept {
  return head.reason.size() + fields_size(head) + 64;
}

std::size_t write_response(const Head& head, char* to) noexcept {
  Out out(to);
  out.put("HTTP/1.1 ").number(head.status).put(" ").put(head.reason).put("\r\n");
  for (const Field& field : head.fields) {
    if (!field.drop && field.id != FieldId::kContentLength) out.field(field.name, field.value);
  }
  // RFC 9110 8.6: not in 1xx and 204; to HEAD and in 304 it tells what a GET would have got.
  const bool may_tell = head.status != 204 && !head.is_interim() && head.body != Body::kStream;
  if (head.has_length && may_tell) out.put("Content-Length: ").number(head.length).put("\r\n");
  out.put("\r\n");
  return out.size();
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
             "24\r\n"
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
