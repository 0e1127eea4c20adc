// Access log: one exchange as one line. A Format is compiled once from `combined`, `json` or a
// string with nginx's variables; it turns a Record into a line in a buffer of the caller.
//
// One record is one line, whatever bytes a client or a node sent: control bytes never reach the
// line. Text: `"`, `\`, control bytes and all above 0x7e as \xHH, as nginx does; what is not known
// is
// `-`. JSON: every line is one object in valid UTF-8, bytes that are no UTF-8 as U+FFFD; what is
// not known is left out. Secrets (secrets.h) are shown as [redacted], in fields, in targets and in
// Referer. A line that does not fit is cut and says so: ` [cut]` at its end, or "truncated":true in
// an object that is still whole.
//
// Threads: a Format is immutable, any number may write. Cost: one pass, no allocation, some 0.3 µs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/base/time.h"
#include "steelyard/http/secrets.h"

namespace steelyard::http {

// Views must live until the line is written. Empty text and nullopt are "not known".
struct AccessRecord {
  std::chrono::sys_time<std::chrono::milliseconds> time;  // wall clock, at the end of the exchange
  std::chrono::minutes utc_offset{0};  // of the local time that text formats show
  std::string_view client_ip;          // without brackets
  std::uint16_t client_port = 0;
  std::string_view listener;                        // the address that was connected to
  std::string_view scheme;                          // http or https
  std::string_view method, target, host, protocol;  // as sent; protocol: "HTTP/1.1"
  std::uint16_t status = 0;                         // what the client got; 499: nothing
  std::uint64_t bytes_in = 0;                       // of the request, head included
  std::uint64_t bytes_out = 0;                      // of the answer, head included
  std::uint64_t body_bytes_out = 0;
  base::Duration duration{0};  // from the first byte of the request to the last of the answer
  std::string_view earlier_addresses, earlier_statuses;  // of attempts before the last: "a, b"
  // The last attempt.
  std::string_view upstream, node, node_address;
  std::optional<std::uint16_t> node_status;                            // what the node answered
  std::optional<base::Duration> connect_time, head_time, answer_time;  // from the attempt's start
  std::uint32_t tries = 0;                                             // attempts begun
  std::string_view pick_reason;  // why this node: the picker's words
  std::string_view reason;       // why the answer is one of ours; empty: it is the node's
  std::string_view detail;       // of a request that was refused: what was wrong with it
  std::string_view request_id, trace_id;
  std::string_view tls_protocol, tls_cipher;
  // Values of Format::request_fields() and answer_fields(), in their order.
  std::span<const std::optional<std::string_view>> request_fields, answer_fields;
};

enum class AccessEscape : std::uint8_t { kText, kJson };  // of values in a format string

class AccessFormat {
 public:
  static constexpr std::size_t kMinLine = 64;    // bytes; a buffer has at least these
  static constexpr std::size_t kMaxText = 4096;  // bytes of a format string
  static constexpr std::size_t kMaxFields = 32;  // different $http_… and $sent_http_… each

  // `text` is a name (combined, json) or holds `$name` or `${name}`; `$$` is a dollar sign. Errors
  // (kInvalid, kLimit; origin: operator) name the column, from 1, and the nearest known word.
  [[nodiscard]] static base::Result<AccessFormat> compile(
      std::string_view text, AccessEscape escape = AccessEscape::kText,
      SecretArguments secrets = SecretArguments());

  // Names, in lower case, of the fields whose values a Record must bring; each stands once.
  [[nodiscard]] std::span<const std::string> request_fields() const noexcept {
    return request_fields_;
  }
  [[nodiscard]] std::span<const std::string> answer_fields() const noexcept {
    return answer_fields_;
  }
  // The line with its LF; REQUIRES: out.size() >= kMinLine. Gives the size, at most out.size().
  std::size_t write(const AccessRecord& record, std::span<char> out) const noexcept;

  struct Variable {
    std::string_view name;  // without `$`; one that ends with `_` is followed by a name
    std::string_view help;
  };
  [[nodiscard]] static std::span<const Variable> variables() noexcept;

 private:
  struct Part {
    std::uint8_t variable = 0;  // place in variables(); kLiteral: none
    bool secret = false;        // a field whose value is not shown
    std::uint16_t field = 0;    // place in the list of fields
    std::string text;           // literal, or name of an argument
  };
  static constexpr std::uint8_t kLiteral = 0xff;

  AccessFormat() = default;
  [[nodiscard]] base::Result<void> add_variable(std::string_view name, std::size_t column);
  [[nodiscard]] base::Result<void> parse(std::string_view text);
  std::size_t write_text(const AccessRecord& record, std::span<char> out) const noexcept;
  std::size_t write_json(const AccessRecord& record, std::span<char> out) const noexcept;

  SecretArguments secrets_;
  AccessEscape escape_ = AccessEscape::kText;
  bool json_ = false;
  std::vector<Part> parts_;
  std::vector<std::string> request_fields_, answer_fields_;
};

}  // namespace steelyard::http
