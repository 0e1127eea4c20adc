#include "steelyard/config/check_values.h"

#include <optional>
#include <string_view>
#include <utility>

#include "steelyard/http/access_log.h"
#include "steelyard/http/pattern.h"

namespace steelyard::config {
namespace {

bool is_any(const base::Address& address) {
  const auto& ip = address.ip();
  return std::all_of(ip.begin(), ip.end(), [](std::uint8_t byte) { return byte == 0; });
}

void check_host(const Context& in, const std::string& path, const std::string& host) {
  if (host.empty()) return;
  const std::string name = host.starts_with("*.") ? host.substr(2) : host;
  const bool spelled = schema::has_form(schema::Form::kHost, name);
  if (name.starts_with('[') && spelled) return;  // an IPv6 address as a client would send it
  if (name.find(':') != name.npos)
    return in.error(path, "is " + quoted(host) + ", must be a name without a port");
  if (name.find('/') != name.npos) {
    return in.error(
        path, "is " + quoted(host) + ", must be a name alone: the path has its own key, \"path\"");
  }
  if (name.empty() || name.find('*') != name.npos) {
    return in.error(
        path, "is " + quoted(host) + ", a * may only stand for the front labels, as *.example.com");
  }
  if (!spelled) {
    return in.error(path, "is " + quoted(host) + ", must be letters, digits, dots and dashes");
  }
  if (name.starts_with('.') || name.find("..") != name.npos) {
    in.error(path, "is " + quoted(host) + ", has an empty label between its dots");
  }
}

void check_path(const Context& in, const std::string& path, const std::string& value) {
  if (value.find_first_of("?#") != value.npos) {
    in.error(path, "is " + quoted(value) + ", must be a path without a query: nothing would match");
  } else if (value.find('*') != value.npos) {
    in.warn(path,
            "is " + quoted(value) + ", a * in a path has no meaning: paths are prefixes already");
  }
}

// Nothing where it is refused, or others have taken all that there is for it.
std::optional<http::Pattern> compiled(const Context& in, const std::string& path,
                                      std::string_view text) {
  // One that is refused for its size has cost about as much as the largest that is taken.
  constexpr std::size_t kRefused = 10'000;
  if (in.instructions > kMaxInstructions) return std::nullopt;  // told
  auto pattern = http::Pattern::compile(text);
  in.instructions += pattern ? pattern->size() : kRefused;
  if (!pattern) {
    in.error(path, pattern.error().describe());
    return std::nullopt;
  }
  if (in.instructions > kMaxInstructions) {
    in.error(path, "is one regular expression too many: with those before it they need " +
                       std::to_string(in.instructions) + " instructions, and may need " +
                       std::to_string(kMaxInstructions) + " (this one: " +
                       std::to_string(pattern->size()) + "; a{9} counts as nine times a)");
  }
  return std::move(*pattern);
}

void check_path_regex(const Context& in, const std::string& path, std::string_view text) {
  if (text.empty()) return;
  const auto pattern = compiled(in, path, text);
  if (pattern && !pattern->may_begin_with('/')) {
    in.warn(path, "is " + quoted(text) +
                      ", which matches no path: it must match from the first \"/\" on");
  }
}

void check_regexes(const Context& in, const std::string& path, const request::MatchOptions& match) {
  check_path_regex(in, path + ".path_regex", match.path_regex);
  const auto values = [&](std::string_view key, const schema::Map<request::ValueOptions>& all) {
    for (const auto& [name, value] : all) {
      if (!value.regex) continue;
      const auto at = schema::join_path(schema::join_path(path, key), name);
      (void)compiled(in, at + ".regex", *value.regex);
    }
  };
  values("headers", match.headers);
  values("cookies", match.cookies);
  values("query", match.query);
}

}  // namespace

bool collide(const base::Address& a, const base::Address& b) {
  if (!a.valid() || !b.valid() || a.port() != b.port() || a.port() == 0 || a.family() != b.family())
    return false;
  return a == b || is_any(a) || is_any(b);
}

std::string_view no_node_at(const base::Address& address) {
  const auto& ip = address.ip();
  const bool v4 = address.family() == base::Address::Family::kV4;
  if (is_any(address)) return "which stands for every address of a machine: no node is there";
  if (v4 ? (ip[0] & 0xF0U) == 0xE0U : ip[0] == 0xFFU)
    return "a multicast address: no node is there";
  if (v4 && std::all_of(ip.begin(), ip.begin() + 4, [](auto byte) { return byte == 0xFF; }))
    return "the broadcast address: no node is there";
  return "";
}

void check_node_address(const Context& in, const std::string& path, const base::Address& address) {
  if (!address.valid()) return;  // told already
  const auto at = in.written(path + ".address") ? path + ".address" : path;
  if (const auto why = no_node_at(address); !why.empty())
    return in.error(at, "is " + address.to_text() + ", " + std::string(why));
  const auto ours = [&](const base::Address& own) {
    return own == address || (address.is_loopback() && is_any(own) && collide(own, address));
  };
  const auto& listeners = in.document.listeners;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    if (!ours(listeners[i].address)) continue;
    const auto listener = schema::join_index("listeners", i) + ".address";
    return in.warn(at, "is " + address.to_text() + ", where " + listener + " (" +
                           in.where(listener) + ") listens: requests would come back to us");
  }
  if (ours(in.document.admin.address)) {
    in.warn(at, "is " + address.to_text() + ", where the admin API listens");
  }
}

void check_log_format(const Context& in, const std::string& path, const std::string& format) {
  const auto whole = http::AccessFormat::compile(format);
  if (whole) return;
  if (whole.error().code == base::Code::kLimit) return in.error(path, whole.error().text);
  // One variable at a time, blanks in place of what is before it, so that its column is right.
  bool told = false;
  for (std::size_t at = format.find('$'); at != format.npos; at = format.find('$', at)) {
    const auto next = format.find('$', at + 1);
    if (next == at + 1) {  // a dollar sign
      at += 2;
      continue;
    }
    const auto one =
        http::AccessFormat::compile(std::string(at, ' ') + format.substr(at, next - at));
    if (!one) in.error(path, one.error().text);
    told = told || !one;
    if (next == format.npos) break;
    at = next;
  }
  if (!told) in.error(path, whole.error().text);
}

void check_match(const Context& in, const std::string& path, const request::MatchOptions& match) {
  check_host(in, path + ".host", match.host);
  check_path(in, path + ".path", match.path);
  check_regexes(in, path, match);
}

}  // namespace steelyard::config
