#include "steelyard/http/framing.h"

#include <limits>

#include "steelyard/http/chars.h"
#include "steelyard/http/list.h"
#include "steelyard/http/target.h"

namespace steelyard::http {
namespace {

constexpr std::size_t kMaxOptions =
    64;  // of Connection, all lines together; a guess far above honest use

constexpr std::size_t kMaxProtocols = 16;  // in one Upgrade; a guess far above honest use

constexpr std::size_t kMaxLoadReport =
    8 * 1024;  // bytes; a node that sends more is not spoken to again on it

bool parse_length(std::string_view text, std::uint64_t& out) noexcept {
  if (text.empty()) return false;
  out = 0;
  for (const char c : text) {
    if (!is_char(c, kDigit)) return false;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (out > (static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - digit) / 10)
      return false;
    out = out * 10 + digit;
  }
  return true;
}

struct Facts {  // gathered in one pass over the fields
  const Field* host = nullptr;
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::uint64_t length = 0;
  bool length_bad = false;
  bool length_plain = true;  // as we would write it ourselves
  std::size_t encodings = 0;
  bool chunked = false;  // exactly one line that says exactly "chunked"
  bool chunked_twice = false;
  bool unknown_coding = false;
  bool close = false, keep_alive = false;
  bool names_length = false, names_upgrade = false;
  const Field* upgrade = nullptr;
  std::size_t upgrades = 0;
  bool expects_continue = false;
  bool any_drop = false;
  bool too_many_options = false;
  bool flooded = false;  // a load report beyond all measure
};

void gather_length(const Field& field, Facts& facts) noexcept {
  std::uint64_t value = 0;
  if (!parse_length(field.value, value) || (facts.lengths > 0 && value != facts.length))
    facts.length_bad = true;
  facts.length = value;
  if (++facts.lengths > 1 || (field.value.size() > 1 && field.value.front() == '0'))
    facts.length_plain = false;
}

void gather_coding(const Field& field, Facts& facts) noexcept {
  ++facts.encodings;
  // A list of one has no comma: empty members, which we would skip, others refuse.
  if (field.value.empty() || field.value.find(',') != field.value.npos) facts.unknown_coding = true;
  for_each_item(field.value, [&](std::string_view coding) {
    if (!same_word(coding, "chunked")) {
      facts.unknown_coding = true;
    } else if (facts.chunked) {
      facts.chunked_twice = true;
    } else {
      facts.chunked = true;
    }
    return true;
  });
  if (!facts.chunked) facts.unknown_coding = true;
}

// Fields that an option of Connection cannot take away: the message's own sense, and what we answer
// for ourselves.
bool is_protected(FieldId id) noexcept {
  switch (id) {
    case FieldId::kHost:
    case FieldId::kContentLength:
    case FieldId::kTransferEncoding:
    case FieldId::kXForwardedFor:
    case FieldId::kXForwardedProto:
    case FieldId::kXForwardedHost:
    case FieldId::kXForwardedPort:
    case FieldId::kXRealIp:
    case FieldId::kForwarded:
    case FieldId::kVia:
    case FieldId::kContentType:
    case FieldId::kContentEncoding:
    case FieldId::kAuthorization:
    case FieldId::kCookie:
    case FieldId::kSetCookie:
      return true;
    default:
      return false;
  }
}

void gather_options(const Field& connection, std::span<Field> fields, std::size_t& options,
                    Facts& facts) noexcept {
  const bool fine = for_each_item(connection.value, [&](std::string_view option) {
    if (++options > kMaxOptions) return false;
    if (same_word(option, "close")) {
      facts.close = true;
    } else if (same_word(option, "keep-alive")) {
      facts.keep_alive = true;
    } else {
      facts.names_length = facts.names_length || same_word(option, "content-length");
      facts.names_upgrade = facts.names_upgrade || same_word(option, "upgrade");
      for (Field& field : fields) {
        if (!is_protected(field.id) && same_word(field.name, option)) field.drop = true;
      }
    }
    return true;
  });
  if (!fine) facts.too_many_options = true;
}

Facts gather(std::span<Field> fields) noexcept {
  Facts facts;
  std::size_t options = 0;
  for (Field& field : fields) {
    switch (field.id) {
      case FieldId::kHost:
        facts.host = &field;
        ++facts.hosts;
        break;
      case FieldId::kContentLength:
        gather_length(field, facts);
        break;
      case FieldId::kTransferEncoding:
        gather_coding(field, facts);
        field.drop = true;
        break;
      case FieldId::kConnection:
        gather_options(field, fields, options, facts);
        field.drop = true;
        break;
      case FieldId::kUpgrade:
        facts.upgrade = &field;
        ++facts.upgrades;
        field.drop = true;
        break;
      case FieldId::kExpect:
        facts.expects_continue = same_word(field.value, "100-continue");
        break;
      case FieldId::kKeepAlive:
      case FieldId::kProxyConnection:
      case FieldId::kTe:
      case FieldId::kHttp2Settings:
        field.drop = true;
        break;
      case FieldId::kLoadReport:
        field.drop = true;
        facts.flooded = facts.flooded || field.value.size() > kMaxLoadReport;
        break;
      default:
        break;
    }
  }
  for (const Field& field : fields) facts.any_drop = facts.any_drop || field.drop;
  return facts;
}

Meaning refuse(std::uint16_t status, std::string_view text, Why why = Why::kProtocol) noexcept {
  return {false, Framing::kNone, {why, status, text}};
}

// "HTTP/1.d"; 1.2 and above speak 1.1 with us. Gives the major number, or -1.
int read_version(std::string_view text, Version& version, bool& exact) noexcept {
  if (text.size() != 8 || text.substr(0, 5) != "HTTP/" || text[6] != '.' ||
      !is_char(text[5], kDigit) || !is_char(text[7], kDigit)) {
    return -1;
  }
  version = text[7] == '0' ? Version::k10 : Version::k11;
  exact = text[7] <= '1';
  return text[5] - '0';
}

// protocol-name[/protocol-version], a list of them; false: nothing in it that may be passed on.
bool offers_protocol(std::string_view list) noexcept {
  bool any = false;
  std::size_t count = 0;
  const bool fine = for_each_item(list, [&](std::string_view item) {
    std::size_t slashes = 0;
    if (++count > kMaxProtocols) return false;
    for (const char c : item) {
      if (c == '/' ? ++slashes > 1 : !is_char(c, kToken)) return false;
    }
    any = any || !same_word(item, "h2c");
    return item.front() != '/' && item.back() != '/';
  });
  return fine && any;
}

// Is each protocol of a 101 among those that were offered?
bool was_offered(std::string_view chosen, std::string_view offered) noexcept {
  std::size_t count = 0;
  const bool fine = for_each_item(chosen, [&](std::string_view item) {
    if (++count > kMaxProtocols) return false;
    return !for_each_item(offered, [&](std::string_view one) { return !same_word(one, item); });
  });
  return fine && count > 0;
}

void understand_upgrade(const Facts& facts, bool body_comes, Head& head) noexcept {
  const bool asked = head.version == Version::k11 && facts.names_upgrade && facts.upgrades == 1;
  if (!asked || body_comes || head.method == Method::kConnect) return;
  if (offers_protocol(facts.upgrade->value)) head.upgrade = facts.upgrade->value;
}

// A final head behind which the connection carries something else. 101: Connection may be missing,
// it is written anew. 2xx to CONNECT: framing fields mean nothing (RFC 9110 9.3.6).
Meaning understand_tunnel(const Facts& facts, const Asked& asked, Head& head) noexcept {
  if (head.status == 101) {
    if (asked.upgrade.empty()) return refuse(502, "101 without an upgrade");
    if (facts.upgrades != 1 || !was_offered(facts.upgrade->value, asked.upgrade))
      return refuse(502, "101 with a protocol that was not asked for");
    head.upgrade = facts.upgrade->value;
  }
  head.body = Body::kTunnel;
  head.has_length = false;
  head.length = 0;
  head.keep_alive = false;
  return {true, Framing::kUntilClose, {}};
}

}  // namespace

Meaning understand_request(const StartLine& start, std::span<Field> fields,
                           const Http1Limits& limits, Head& head) noexcept {
  head = Head{};
  bool exact = false;
  const int major = read_version(start.third, head.version, exact);
  if (major < 0) return refuse(400, "bad version");
  if (major != 1) return refuse(505, "version not supported");
  head.method_text = start.first;
  head.method = method_of(start.first);
  head.target = start.second;
  head.fields = fields;
  if (head.method == Method::kConnect && !limits.connect)
    return refuse(501, "CONNECT is not supported");
  if (head.method == Method::kTrace) return refuse(405, "TRACE is not supported");
  if (!read_target(head)) return refuse(400, "bad target");

  const Facts facts = gather(fields);
  const bool v11 = head.version == Version::k11;
  if (facts.hosts > 1 || (facts.hosts == 0 && v11)) return refuse(400, "there must be one Host");
  if (facts.host != nullptr && !valid_authority(facts.host->value)) return refuse(400, "bad Host");
  if (head.authority.empty() && facts.host != nullptr) head.authority = facts.host->value;
  if (facts.too_many_options) return refuse(400, "too many Connection options");
  if (facts.names_length) return refuse(400, "Connection names Content-Length");
  if (facts.lengths > 1 || facts.length_bad) return refuse(400, "bad Content-Length");
  if (facts.encodings > 0) {
    if (facts.lengths > 0) return refuse(400, "both Transfer-Encoding and Content-Length");
    if (!v11) return refuse(400, "Transfer-Encoding in HTTP/1.0");
    if (facts.chunked_twice) return refuse(400, "chunked twice");
    if (facts.unknown_coding) return refuse(501, "unknown transfer coding");
  }
  Meaning meaning{true, Framing::kNone, {}};
  if (facts.encodings > 0) {
    meaning.framing = Framing::kChunked;
    head.body = Body::kStream;
  } else if (facts.lengths > 0) {
    if (limits.max_body != 0 && facts.length > limits.max_body)
      return refuse(413, "body too large", Why::kLimit);
    meaning.framing = Framing::kLength;
    head.body = Body::kLength;
    head.length = facts.length;
    head.has_length = true;
  }
  head.keep_alive = v11 ? !facts.close : facts.keep_alive && !facts.close;
  const bool body_comes = head.body == Body::kStream || head.length > 0;
  if (body_comes && head.method == Method::kConnect) return refuse(400, "CONNECT with a body");
  understand_upgrade(facts, body_comes, head);
  head.expect_continue = v11 && facts.expects_continue && body_comes;
  if (!v11) {
    for (Field& field : fields) {
      if (field.id == FieldId::kExpect) field.drop = true;
    }
  }
  return meaning;
}

Meaning understand_response(const StartLine& start, std::span<Field> fields, const Asked& asked,
                            Head& head) noexcept {
  head = Head{};
  bool exact = false;
  if (read_version(start.first, head.version, exact) != 1) return refuse(502, "bad version");
  const std::string_view digits = start.second;
  head.status = static_cast<std::uint16_t>((digits[0] - '0') * 100 + (digits[1] - '0') * 10 +
                                           (digits[2] - '0'));
  if (head.status < 100) return refuse(502, "bad status");
  head.reason = start.third;
  head.fields = fields;
  head.method = asked.method;

  const Facts facts = gather(fields);
  const bool v11 = head.version == Version::k11;
  if (facts.too_many_options) return refuse(502, "too many Connection options");
  const bool connected =
      asked.method == Method::kConnect && head.status >= 200 && head.status < 300;
  if (connected) return understand_tunnel(facts, asked, head);
  if (facts.length_bad) return refuse(502, "bad Content-Length");
  if (facts.encodings > 0) {
    if (facts.lengths > 0) return refuse(502, "both Transfer-Encoding and Content-Length");
    if (!v11) return refuse(502, "Transfer-Encoding in HTTP/1.0");
    if (facts.chunked_twice || facts.unknown_coding) return refuse(502, "unknown transfer coding");
  }
  head.keep_alive = v11 ? !facts.close : facts.keep_alive && !facts.close;
  if (facts.flooded) head.keep_alive = false;
  head.has_length = facts.lengths > 0;
  head.length = facts.length;
  Meaning meaning{true, Framing::kNone, {}};
  if (head.is_interim()) {
    if (facts.length > 0 || facts.encodings > 0) return refuse(502, "interim answer with a body");
    if (head.status == 101) return understand_tunnel(facts, asked, head);
  } else if (head.status == 204) {
    if (facts.length > 0 || facts.encodings > 0)
      head.keep_alive = false;  // what follows cannot be trusted
  } else if (asked.method == Method::kHead || head.status == 304) {
    meaning.framing = Framing::kNone;
  } else if (facts.encodings > 0) {
    meaning.framing = Framing::kChunked;
    head.body = Body::kStream;
  } else if (facts.lengths > 0) {
    meaning.framing = Framing::kLength;
    head.body = Body::kLength;
  } else {
    meaning.framing = Framing::kUntilClose;
    head.body = Body::kStream;
    head.keep_alive = false;
  }
  const bool stray_length = head.has_length && (head.status == 204 || head.is_interim());
  const bool full_line = start.third.data() != nullptr;
  head.clean = v11 && exact && full_line && !facts.any_drop && facts.length_plain && !stray_length;
  return meaning;
}

bool sound_trailers(std::span<const Field> fields) noexcept {
  Facts facts;
  for (const Field& field : fields) {
    if (field.id == FieldId::kContentLength) gather_length(field, facts);
    if (field.id == FieldId::kTransferEncoding) gather_coding(field, facts);
  }
  return !facts.length_bad && !facts.unknown_coding;
}

std::size_t keep_good_trailers(std::span<Field> fields) noexcept {
  std::size_t kept = 0;
  for (const Field& field : fields) {
    // Whatever we know by name frames, routes, authenticates or controls, and came too late for
    // that.
    if (field.drop || field.id != FieldId::kOther) continue;
    fields[kept++] = field;
  }
  return kept;
}

}  // namespace steelyard::http
