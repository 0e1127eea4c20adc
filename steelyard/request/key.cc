#include "steelyard/request/key.h"

#include <array>
#include <charconv>
#include <string>

#include "steelyard/base/hash.h"
#include "steelyard/schema/form.h"

namespace steelyard::request {

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = base::fnv1a(text);
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31U);
}

namespace {

base::Error bad(std::string text) {
  return {base::Code::kInvalid, base::Origin::kOperator, false, std::move(text)};
}

// "24" of at most 32; what follows a slash stays in `text`.
std::optional<std::uint8_t> bits(std::string_view& text, unsigned most) {
  const auto slash = text.find('/');
  const auto digits = text.substr(0, slash);
  text = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  unsigned out = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, out);
  if (error != std::errc{} || at != end || out == 0 || out > most) return std::nullopt;
  return static_cast<std::uint8_t>(out);
}

// The network of an address.
base::Address first_bits(const base::Address& address, unsigned bits4, unsigned bits6) noexcept {
  auto ip = address.ip();
  const bool v4 = address.family() == base::Address::Family::kV4;
  unsigned left = v4 ? bits4 : bits6;
  for (auto& byte : ip) {
    const unsigned here = left < 8 ? left : 8;
    byte = static_cast<std::uint8_t>(byte & (0xFF00U >> here));
    left -= here;
  }
  if (v4) return base::Address::v4({ip[0], ip[1], ip[2], ip[3]}, 0);
  return base::Address::v6(ip, 0);
}

}  // namespace

base::Result<KeySource> KeySource::networks(std::string_view text) {
  KeySource out;
  out.kind_ = Kind::kClient;
  const bool cut = text.ends_with('/');
  const auto v4 = bits(text, 32);
  const bool both = !text.empty();
  const auto v6 = both ? bits(text, 128) : std::optional<std::uint8_t>(128);
  if (!v4 || !v6 || !text.empty() || cut) {
    return bad(
        "must be client/BITS or client/BITS/BITS: 1 to 32 bits of an IPv4 address, 1 to 128 of "
        "an IPv6 one");
  }
  out.bits4_ = *v4;
  out.bits6_ = *v6;
  return out;
}

base::Result<KeySource> KeySource::parse(std::string_view text) {
  struct Form {
    std::string_view word;
    Kind kind;
  };
  constexpr std::array words{Form{"random", Kind::kRandom}, Form{"client", Kind::kClient},
                             Form{"path", Kind::kPath}, Form{"uri", Kind::kUri},
                             Form{"host", Kind::kHost}};
  constexpr std::array prefixes{Form{"header:", Kind::kHeader}, Form{"cookie:", Kind::kCookie},
                                Form{"query:", Kind::kQuery}};
  constexpr std::string_view kNetworks = "client/";
  KeySource out;
  for (const Form& form : words) {
    out.kind_ = form.kind;
    if (text == form.word) return out;
  }
  if (text.starts_with(kNetworks)) return networks(text.substr(kNetworks.size()));
  for (const Form& form : prefixes) {
    if (!text.starts_with(form.word) || text.size() == form.word.size()) continue;
    out.kind_ = form.kind;
    out.name_ = text.substr(form.word.size());
    const auto spelling =
        form.kind == Kind::kQuery ? schema::Form::kArgument : schema::Form::kToken;
    if (!schema::has_form(spelling, out.name_)) {
      return bad("whose name " + std::string(schema::words_of(spelling)));
    }
    return out;
  }
  return bad(
      "must be random, client, client/BITS/BITS, path, uri, host, header:NAME, cookie:NAME or "
      "query:NAME");
}

std::optional<std::string_view> KeySource::text(const Facts& facts, Room& room) const noexcept {
  std::optional<std::string_view> found;
  switch (kind_) {
    case Kind::kRandom:
      return std::nullopt;
    case Kind::kClient: {
      const auto address = facts.client();
      if (!address.valid()) return std::nullopt;
      return std::string_view(room.data(),
                              first_bits(address, bits4_, bits6_).write_ip(room.data()));
    }
    case Kind::kPath:
      found = facts.path();
      break;
    case Kind::kUri:
      found = facts.uri();
      break;
    case Kind::kHost:
      found = facts.host();
      break;
    case Kind::kHeader:
      found = facts.header(name_);
      break;
    case Kind::kCookie:
      found = facts.cookie(name_);
      break;
    case Kind::kQuery:
      found = facts.query(name_);
      break;
  }
  return found && !found->empty() ? found : std::nullopt;
}

std::optional<std::uint64_t> KeySource::key(const Facts& facts) const noexcept {
  Room room;
  const auto found = text(facts, room);
  return found ? std::optional(hash_of(*found)) : std::nullopt;
}

}  // namespace steelyard::request
