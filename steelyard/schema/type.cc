#include "steelyard/schema/type.h"

#include <algorithm>

#include "steelyard/schema/scalar.h"

namespace steelyard::schema {
namespace {

std::string bound_text(Kind kind, std::int64_t value) {
  if (kind == Kind::kDuration) return duration_text(base::Duration(value));
  if (kind == Kind::kBytes) return bytes_text({static_cast<std::uint64_t>(value)});
  return std::to_string(value);
}

template <typename N, typename Show>
std::string range_words(const Range<N>& range, Show show) {
  if (range.has_lo() && range.has_hi()) return show(range.lo) + " to " + show(range.hi);
  if (range.has_lo()) return "at least " + show(range.lo);
  if (range.has_hi()) return "at most " + show(range.hi);
  return {};
}

std::string words_text(const std::vector<std::string_view>& words) {
  std::string out = words.size() > 1 ? "one of " : "";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) out += ", ";
    out += words[i];
  }
  return out;
}

std::string_view noun(const Type& type) {
  switch (type.kind) {
    case Kind::kBool:
      return "true or false";
    case Kind::kInteger:
      return "a whole number";
    case Kind::kNumber:
      return "a number";
    case Kind::kRatio:
      return "a share, as 20% or 0.2";
    case Kind::kDuration:
      return "a duration, as 30s or 1h30m";
    case Kind::kBytes:
      return "a size, as 10MiB";
    case Kind::kString:
      return "a text";
    case Kind::kAddress:
      return type.any_address ? "an address, as 10.0.0.1:80 or :80"
                              : "an address, as 10.0.0.1:80 or [::1]:80";
    case Kind::kStruct:
    case Kind::kMap:
      return "a mapping";
    default:
      return "a list";
  }
}

std::string scalar_text(const Type& type, const Scalar& value) {
  switch (type.kind) {
    case Kind::kBool:
      return std::get<bool>(value) ? "true" : "false";
    case Kind::kNumber:
      return number_text(std::get<double>(value));
    case Kind::kRatio:
      return ratio_text(std::get<double>(value));
    case Kind::kString: {
      const auto& text = std::get<std::string>(value);
      return text.empty() ? "\"\"" : text;
    }
    case Kind::kAddress: {
      const auto& address = std::get<base::Address>(value);
      return address.valid() ? address.to_text() : std::string();
    }
    case Kind::kEnum: {
      const auto at = static_cast<std::size_t>(std::get<std::int64_t>(value));
      return at < type.words.size() ? std::string(type.words[at]) : std::string();
    }
    default:
      return bound_text(type.kind, std::get<std::int64_t>(value));
  }
}

template <typename Named>
std::vector<std::string_view> collect_names(const std::vector<Named>& from) {
  std::vector<std::string_view> out(from.size());
  std::transform(from.begin(), from.end(), out.begin(), [](const Named& one) { return one.name; });
  return out;
}

}  // namespace

std::vector<std::string_view> names_of(const std::vector<Alternative>& alternatives) {
  return collect_names(alternatives);
}

std::vector<std::string_view> names_of(const std::vector<FieldInfo>& fields) {
  return collect_names(fields);
}

std::string range_text(const Type& type) {
  switch (type.kind) {
    case Kind::kInteger:
    case Kind::kDuration:
    case Kind::kBytes:
      return range_words(type.integers,
                         [&](std::int64_t value) { return bound_text(type.kind, value); });
    case Kind::kNumber:
      return range_words(type.numbers, number_text);
    case Kind::kRatio:
      return range_words(type.numbers, ratio_text);
    default:
      return {};
  }
}

std::string in_words(const Type& type) {
  switch (type.kind) {
    case Kind::kOptional:
      return in_words(type.element.front()) + ", or off";
    case Kind::kEnum:
      return words_text(type.words);
    case Kind::kChoice:
      return words_text(names_of(type.alternatives));
    case Kind::kString:
      if (!type.words.empty()) return words_text(type.words);
      break;
    case Kind::kDuration:
    case Kind::kBytes:
      // Every duration and size is at least 0: only a narrower range is worth saying.
      if (type.integers.lo == 0 && !type.integers.has_hi()) return std::string(noun(type));
      break;
    default:
      break;
  }
  const auto range = range_text(type);
  std::string out(noun(type));
  if (!range.empty()) out += " (" + range + ")";
  return out;
}

std::string to_text(const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::kStruct:
      return "{}";
    case Kind::kChoice:
      return static_cast<const Choice*>(value)->name;
    case Kind::kOptional:
      return type.size(value) == 0 ? "off"
                                   : to_text(type.element.front(), type.item(value, 0, nullptr));
    case Kind::kList:
    case Kind::kMap: {
      std::string out;
      for (std::size_t i = 0; i < type.size(value); ++i) {
        std::string_view key;
        const void* item = type.item(value, i, &key);
        if (i != 0) out += ", ";
        if (type.kind == Kind::kMap) out.append(key).append(": ");
        out += to_text(type.element.front(), item);
      }
      return type.kind == Kind::kMap ? "{" + out + "}" : "[" + out + "]";
    }
    default:
      return scalar_text(type, type.load(value));
  }
}

}  // namespace steelyard::schema
