// describe<T>(): the Type of an options struct, from its field table. Included where a table is
// read, not where it stands.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "steelyard/base/bytes.h"
#include "steelyard/base/time.h"
#include "steelyard/schema/type.h"

namespace steelyard::schema {

namespace detail {

template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsMap = false;
template <typename T>
inline constexpr bool kIsMap<Map<T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
concept HasFields = requires { T::fields(); };
template <typename T>
concept HasCheck = requires(const T& value, Faults& faults) { value.check(faults); };
template <typename T>
concept HasShorthand = requires { std::string_view(T::kShorthand); };

template <typename T>
Type type_of();

template <typename T>
T& as(void* at) {
  return *static_cast<T*>(at);
}
template <typename T>
const T& as(const void* at) {
  return *static_cast<const T*>(at);
}

template <typename T>
void describe_integer(Type& type) {
  static_assert(sizeof(T) <= 8);
  type.kind = Kind::kInteger;
  type.integers.lo = std::in_range<std::int64_t>(std::numeric_limits<T>::lowest())
                         ? static_cast<std::int64_t>(std::numeric_limits<T>::lowest())
                         : 0;
  if constexpr (std::in_range<std::int64_t>(std::numeric_limits<T>::max())) {
    type.integers.hi = static_cast<std::int64_t>(std::numeric_limits<T>::max());
  }
  type.store = [](void* to, const Scalar& value) {
    as<T>(to) = static_cast<T>(std::get<std::int64_t>(value));
  };
  type.load = [](const void* from) { return Scalar(static_cast<std::int64_t>(as<T>(from))); };
}

template <typename T>
void describe_enum(Type& type) {
  type.kind = Kind::kEnum;
  for (const auto& name : schema_names(T{})) type.words.push_back(name.text);
  type.store = [](void* to, const Scalar& value) {
    as<T>(to) = schema_names(T{})[static_cast<std::size_t>(std::get<std::int64_t>(value))].value;
  };
  type.load = [](const void* from) {
    std::int64_t at = 0;
    for (const auto& name : schema_names(T{})) {
      if (name.value == as<T>(from)) break;
      ++at;
    }
    return Scalar(at);
  };
}

template <typename T>
void describe_scalar(Type& type) {
  if constexpr (std::same_as<T, bool>) {
    type.kind = Kind::kBool;
  } else if constexpr (std::same_as<T, double>) {
    type.kind = Kind::kNumber;
  } else if constexpr (std::same_as<T, std::string>) {
    type.kind = Kind::kString;
  } else {
    static_assert(std::same_as<T, base::Address>, "a member type the schema does not know");
    type.kind = Kind::kAddress;
  }
  type.store = [](void* to, const Scalar& value) { as<T>(to) = std::get<T>(value); };
  type.load = [](const void* from) { return Scalar(as<T>(from)); };
}

template <typename T>
void describe_container(Type& type) {
  if constexpr (kIsVector<T>) {
    using Item = typename T::value_type;
    static_assert(!std::same_as<Item, bool>);
    type.kind = Kind::kList;
    type.element.push_back(type_of<Item>());
    type.append = [](void* to, std::string_view) {
      return static_cast<void*>(&as<T>(to).emplace_back());
    };
    type.clear = [](void* to) { as<T>(to).clear(); };
    type.size = [](const void* from) { return as<T>(from).size(); };
    type.item = [](const void* from, std::size_t at, std::string_view*) {
      return static_cast<const void*>(&as<T>(from)[at]);
    };
  } else if constexpr (kIsMap<T>) {
    using Item = typename decltype(T::entries)::value_type::second_type;
    type.kind = Kind::kMap;
    type.element.push_back(type_of<Item>());
    type.append = [](void* to, std::string_view key) {
      return static_cast<void*>(&as<T>(to).entries.emplace_back(std::string(key), Item{}).second);
    };
    type.clear = [](void* to) { as<T>(to).entries.clear(); };
    type.size = [](const void* from) { return as<T>(from).entries.size(); };
    type.item = [](const void* from, std::size_t at, std::string_view* key) {
      if (key != nullptr) *key = as<T>(from).entries[at].first;
      return static_cast<const void*>(&as<T>(from).entries[at].second);
    };
  } else {
    type.kind = Kind::kOptional;
    type.element.push_back(type_of<typename T::value_type>());
    type.append = [](void* to,
                     std::string_view) {  // what a default holds stays, as in a plain struct
      auto& value = as<T>(to);
      if (!value) value.emplace();
      return static_cast<void*>(&*value);
    };
    type.clear = [](void* to) { as<T>(to).reset(); };
    type.size = [](const void* from) {
      return as<T>(from).has_value() ? std::size_t{1} : std::size_t{0};
    };
    type.item = [](const void* from, std::size_t, std::string_view*) {
      return static_cast<const void*>(&*as<T>(from));
    };
  }
}

// The Type that a limit of a field speaks of: of an optional, what it may hold.
inline Type& limited(Type& type) {
  return type.kind == Kind::kOptional ? limited(type.element.front()) : type;
}

template <typename Member, typename N>
std::int64_t as_int64(N value) {
  if constexpr (std::same_as<N, base::Bytes>) {
    return static_cast<std::int64_t>(value.count);
  } else if constexpr (std::integral<N>) {
    return static_cast<std::int64_t>(value);
  } else {
    return std::chrono::duration_cast<base::Duration>(value).count();
  }
}

template <typename N>
concept IntegerLike = std::integral<N> || std::same_as<N, base::Bytes> ||
                      requires(N value) { std::chrono::duration_cast<base::Duration>(value); };

template <typename N>
void limit_lo(Type& type, N lo) {
  if (type.kind == Kind::kNumber || type.kind == Kind::kRatio) {
    if constexpr (std::is_arithmetic_v<N>) type.numbers.lo = static_cast<double>(lo);
  } else if constexpr (IntegerLike<N>) {
    type.integers.lo = as_int64<N>(lo);
  }
}
template <typename N>
void limit_hi(Type& type, N hi) {
  if (type.kind == Kind::kNumber || type.kind == Kind::kRatio) {
    if constexpr (std::is_arithmetic_v<N>) type.numbers.hi = static_cast<double>(hi);
  } else if constexpr (IntegerLike<N>) {
    type.integers.hi = as_int64<N>(hi);
  }
}

template <typename L, typename H>
void apply(FieldInfo& info, const Between<L, H>& limit) {
  limit_lo(limited(info.type), limit.lo);
  limit_hi(limited(info.type), limit.hi);
}
template <typename L>
void apply(FieldInfo& info, const AtLeast<L>& limit) {
  limit_lo(limited(info.type), limit.lo);
}
inline void apply(FieldInfo& info, const Ratio& limit) {
  Type& type = limited(info.type);
  type.kind = Kind::kRatio;
  type.numbers = {limit.lo, limit.hi};
}
template <std::size_t N>
void apply(FieldInfo& info, const OneOf<N>& limit) {
  limited(info.type).words.assign(limit.words.begin(), limit.words.end());
}
inline void apply(FieldInfo& info, const StartsWith& limit) {
  limited(info.type).prefix = limit.text;
}
inline void apply(FieldInfo& info, NonEmpty) { limited(info.type).non_empty = true; }
inline void apply(FieldInfo& info, Required) { info.required = true; }
inline void apply(FieldInfo& info, Identifier) { limited(info.type).identifier = true; }
inline void apply(FieldInfo& info, const Spelled& limit) {
  Type& type = limited(info.type);
  (type.kind == Kind::kList ? type.element.front() : type).form = limit.form;
}
inline void apply(FieldInfo& info, AnyAddress) { limited(info.type).any_address = true; }
inline void apply(FieldInfo& info, UntilRestart) { info.until_restart = true; }
template <typename Entries>
void apply(FieldInfo& info, const ChoiceOf<Entries>& limit) {
  Type& type = limited(info.type);
  for (const auto& entry : limit.entries()) {
    Alternative alternative{entry.name, entry.summary, nullptr};
    if constexpr (requires { Describe(entry.options); }) alternative.options = entry.options;
    type.alternatives.push_back(alternative);
  }
}

template <typename Owner, typename Member, typename... Limits>
FieldInfo info_of(const Field<Owner, Member, Limits...>& field) {
  FieldInfo info{
      .name = field.name,
      .help = field.help,
      .type = type_of<Member>(),
      .required = false,
      .until_restart = false,
      .at = [member = field.member](void* owner) -> void* { return &(as<Owner>(owner).*member); }};
  std::apply([&](const auto&... limits) { (apply(info, limits), ...); }, field.limits);
  return info;
}

template <typename Owner, typename Member, typename... Limits>
void add(std::vector<FieldInfo>& out, const Field<Owner, Member, Limits...>& field) {
  out.push_back(info_of(field));
}
template <typename Owner, typename Member>
void add(std::vector<FieldInfo>& out, const Splice<Owner, Member>& splice) {
  static_assert(!HasCheck<Member>);
  Type inner = type_of<Member>();
  for (auto& info : inner.fields) {
    info.at = [member = splice.member, at = std::move(info.at)](void* owner) {
      return at(&(as<Owner>(owner).*member));
    };
    out.push_back(std::move(info));
  }
}

template <typename T>
void describe_struct(Type& type) {
  type.kind = Kind::kStruct;
  std::apply([&](const auto&... fields) { (add(type.fields, fields), ...); }, T::fields());
  type.make = []() -> std::shared_ptr<void> { return std::make_shared<T>(); };
  if constexpr (HasCheck<T>) {
    type.check = [](const void* from, Faults& faults) { as<T>(from).check(faults); };
  }
  if constexpr (HasShorthand<T>) type.shorthand = T::kShorthand;
}

template <typename T>
Type type_of() {
  Type type;
  if constexpr (HasFields<T>) {
    describe_struct<T>(type);
  } else if constexpr (kIsVector<T> || kIsMap<T> || kIsOptional<T>) {
    describe_container<T>(type);
  } else if constexpr (std::same_as<T, Choice>) {
    type.kind = Kind::kChoice;
  } else if constexpr (std::same_as<T, base::Duration>) {
    type.kind = Kind::kDuration;
    type.integers.lo = 0;
    type.store = [](void* to, const Scalar& value) {
      as<T>(to) = T(std::get<std::int64_t>(value));
    };
    type.load = [](const void* from) {
      return Scalar(static_cast<std::int64_t>(as<T>(from).count()));
    };
  } else if constexpr (std::same_as<T, base::Bytes>) {
    type.kind = Kind::kBytes;
    type.integers.lo = 0;
    type.store = [](void* to, const Scalar& value) {
      as<T>(to).count = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
    };
    type.load = [](const void* from) {
      return Scalar(static_cast<std::int64_t>(as<T>(from).count));
    };
  } else if constexpr (std::is_enum_v<T>) {
    describe_enum<T>(type);
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    describe_integer<T>(type);
  } else {
    describe_scalar<T>(type);
  }
  return type;
}

}  // namespace detail

template <detail::HasFields T>
[[nodiscard]] Type describe() {
  return detail::type_of<T>();
}

}  // namespace steelyard::schema
