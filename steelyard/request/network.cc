#include "steelyard/request/network.h"

#include <charconv>
#include <string>

namespace steelyard::request {
namespace {

base::Error invalid(std::string text) {
  return {base::Code::kInvalid, base::Origin::kOperator, false, std::move(text)};
}

unsigned width(const base::Address& address) noexcept {
  return address.family() == base::Address::Family::kV4 ? 32 : 128;
}

bool same_bits(const base::Address& a, const base::Address& b, unsigned bits) noexcept {
  if (a.family() != b.family()) return false;
  for (std::size_t i = 0; bits > 0; ++i) {
    const unsigned here = bits < 8 ? bits : 8;
    const unsigned mask = 0xFF00U >> here & 0xFFU;
    if (((a.ip()[i] ^ b.ip()[i]) & mask) != 0) return false;
    bits -= here;
  }
  return true;
}

bool zero_behind(const base::Address& address, unsigned bits) noexcept {
  for (unsigned bit = bits; bit < width(address); ++bit) {
    if ((address.ip()[bit / 8] >> (7 - bit % 8) & 1U) != 0) return false;
  }
  return true;
}

}  // namespace

base::Result<Network> Network::parse(std::string_view text) {
  const auto slash = text.find('/');
  const auto ip = text.substr(0, slash);
  const bool six = ip.find(':') != std::string_view::npos;
  const auto address =
      base::Address::parse(six ? "[" + std::string(ip) + "]:1" : std::string(ip) + ":1");
  if (!address || ip.empty()) return invalid("must be an address or a network, as 10.0.0.0/8");
  Network out;
  out.base_ = address->with_port(0);
  out.bits_ = width(*address);
  if (slash == std::string_view::npos) return out;
  const auto digits = text.substr(slash + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), out.bits_);
  if (error != std::errc{} || end != digits.data() + digits.size() || out.bits_ > width(*address) ||
      (digits.size() > 1 && digits[0] == '0')) {
    return invalid("must have 0 to " + std::to_string(width(*address)) + " behind the slash");
  }
  if (!zero_behind(out.base_, out.bits_)) {
    return invalid("has bits behind its first " + std::to_string(out.bits_) +
                   ": an address or a network?");
  }
  return out;
}

bool Network::holds(const base::Address& address) const noexcept {
  return same_bits(base_, address, bits_);
}

bool Network::holds(const Network& other) const noexcept {
  return bits_ <= other.bits_ && same_bits(base_, other.base_, bits_);
}

}  // namespace steelyard::request
