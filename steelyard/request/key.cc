#include "steelyard/request/key.h"

#include <array>
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

base::Result<KeySource> KeySource::parse(std::string_view text) {
  struct Form {
    std::string_view prefix;
    Kind kind;
  };
  constexpr std::array forms{Form{"header:", Kind::kHeader}, Form{"cookie:", Kind::kCookie},
                             Form{"query:", Kind::kQuery}};
  KeySource out;
  if (text == "random") return out;
  if (text == "client") {
    out.kind_ = Kind::kClient;
    return out;
  }
  for (const Form& form : forms) {
    if (!text.starts_with(form.prefix) || text.size() == form.prefix.size()) continue;
    out.kind_ = form.kind;
    out.name_ = text.substr(form.prefix.size());
    const auto spelling =
        form.kind == Kind::kQuery ? schema::Form::kArgument : schema::Form::kToken;
    if (!schema::has_form(spelling, out.name_)) {
      return base::Error{base::Code::kInvalid, base::Origin::kOperator, false,
                         "whose name " + std::string(schema::words_of(spelling))};
    }
    return out;
  }
  return base::Error{base::Code::kInvalid, base::Origin::kOperator, false,
                     "must be random, client, header:NAME, cookie:NAME or query:NAME"};
}

std::optional<std::uint64_t> KeySource::key(const Facts& facts) const noexcept {
  std::optional<std::string_view> found;
  switch (kind_) {
    case Kind::kRandom:
      return std::nullopt;
    case Kind::kClient: {
      std::array<char, 46> text;
      const auto address = facts.client();
      if (!address.valid()) return std::nullopt;
      return hash_of({text.data(), address.write_ip(text.data())});
    }
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
  if (!found || found->empty()) return std::nullopt;
  return hash_of(*found);
}

}  // namespace steelyard::request
