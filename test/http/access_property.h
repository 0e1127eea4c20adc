// Property of the access log: for any bytes in any field of a record, and any size of the buffer,
// one record is one line; JSON is an object in valid UTF-8 and says when it was cut; nothing of a
// secret is shown.
//
// Input: bytes that are dealt out to the fields of a record, in front of them the size of the
// buffer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "steelyard/http/access_log.h"

#include "test/http/require.h"

namespace steelyard::http::testing {

inline constexpr std::string_view kSecretWord = "s3cr3tW0rd";

class Dealer {  // deals an input out in pieces
 public:
  explicit Dealer(std::string_view input) : rest_(input) {}
  std::string_view piece() {
    const std::size_t wanted = byte();
    const std::size_t size = std::min(wanted, rest_.size());
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  std::size_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }

 private:
  std::string_view rest_;
};

inline std::string line_of(const AccessFormat& format, const AccessRecord& record,
                           std::size_t size) {
  std::string out(size, '\xee');
  const std::size_t used = format.write(record, out);
  require(used > 0 && used <= size);
  for (std::size_t i = used; i < size; ++i) require(out[i] == '\xee');
  out.resize(used);
  require(out.back() == '\n' && out.find('\n') == out.size() - 1);
  return out;
}

inline void check_json_line(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  require(json.is_object());
  for (const char c : line.substr(0, line.size() - 1))
    require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  if (!json.contains("truncated")) require(json.contains("attempts"));
}

inline void check_access_property(std::string_view input) {
  static const auto combined = AccessFormat::compile("combined");
  static const auto json = AccessFormat::compile("json");
  static const auto all = [] {
    std::string text =
        "$arg_a\t${arg_token} $http_authorization $http_cookie $sent_http_set_cookie";
    for (const auto& variable : AccessFormat::variables()) {
      if (!variable.name.ends_with("_")) text += " $" + std::string(variable.name);
    }
    return AccessFormat::compile(text);
  }();
  static const auto escaped =
      AccessFormat::compile("{\"a\":\"$request\",\"b\":\"$host\"}", AccessEscape::kJson);

  Dealer deal(input);
  const std::size_t size = AccessFormat::kMinLine + 16 * deal.byte();
  AccessRecord record;
  record.time = std::chrono::sys_time<std::chrono::milliseconds>(
      std::chrono::milliseconds(1'796'023'177'700 + static_cast<long>(deal.byte()) * 86'400'000));
  record.status = static_cast<std::uint16_t>(deal.byte() * 4);
  for (std::string_view* const view :
       {&record.client_ip, &record.method, &record.host, &record.protocol, &record.upstream,
        &record.node, &record.node_address, &record.pick_reason, &record.reason, &record.request_id,
        &record.trace_id, &record.tls_protocol}) {
    *view = deal.piece();
  }
  const std::string target = std::string(deal.piece()) + "?token=" + std::string(kSecretWord);
  record.target = target;
  const std::optional<std::string_view> shown[] = {deal.piece(), deal.piece()};
  const std::optional<std::string_view> secret[] = {kSecretWord, kSecretWord};
  for (const auto* const format : {&combined, &json, &all, &escaped}) {
    record.request_fields = format == &all ? secret : shown;
    record.answer_fields = format == &all ? secret : shown;
    const std::string line = line_of(**format, record, size);
    if (input.find(kSecretWord) == std::string_view::npos)
      require(line.find(kSecretWord) == std::string::npos);
    if (format == &json) check_json_line(line);
    if (format == &escaped && !line.ends_with("[cut]\n"))
      require(nlohmann::json::parse(line, nullptr, false).is_object());
    if (format == &combined || format == &all) {
      for (const char c : line) require(c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f));
    }
  }
}

}  // namespace steelyard::http::testing
