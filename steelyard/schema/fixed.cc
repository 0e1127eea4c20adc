#include "steelyard/schema/fixed.h"

#include "steelyard/schema/tree.h"

namespace steelyard::schema {
namespace {

template <typename Visit>
void each_fixed(const Type& type, const std::string& path, void* before, void* after,
                const Visit& visit) {
  const auto at = [](const FieldInfo& field, void* owner) {
    return owner == nullptr ? nullptr : field.at(owner);
  };
  for (const auto& field : type.fields) {
    const auto here = path.empty() ? std::string(field.name) : join_path(path, field.name);
    void* const a = at(field, before);
    void* const b = at(field, after);
    if (field.until_restart) {
      visit(field.type, here, a, b);
    } else if (field.type.kind == Kind::kStruct) {
      each_fixed(field.type, here, a, b, visit);
    }
  }
}

bool differ(const Type& type, const void* a, const void* b) {
  return type.load != nullptr ? type.load(a) != type.load(b) : to_text(type, a) != to_text(type, b);
}

}  // namespace

std::vector<std::string> fixed_fields(const Type& type) {
  std::vector<std::string> out;
  each_fixed(type, "", nullptr, nullptr,
             [&](const Type&, const std::string& path, void*, void*) { out.push_back(path); });
  return out;
}

std::vector<std::string> fixed_changes(const Type& type, void* before, void* after) {
  std::vector<std::string> out;
  each_fixed(type, "", before, after,
             [&](const Type& field, const std::string& path, const void* a, const void* b) {
               if (differ(field, a, b)) out.push_back(path);
             });
  return out;
}

}  // namespace steelyard::schema
