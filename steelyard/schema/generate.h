// Generated from the field tables: a JSON schema (draft 2020-12) for editors, and a manual of every
// option.
//
// The schema accepts every document that read() accepts, as YAML 1.2 resolves it (`1e3` a number,
// `on` a text); it is looser where JSON Schema cannot say more (the range of `1h30m`,
// cross-checks). Both are deterministic text, committed and compared by a test. Pure.
#pragma once

#include <string>
#include <string_view>

#include "steelyard/schema/type.h"

namespace steelyard::schema {

// `title` and `id` head the schema.
[[nodiscard]] std::string json_schema(const Type& type, std::string_view title,
                                      std::string_view id);
// Markdown: one table for each struct, in the order of the fields. `title` is its first heading.
[[nodiscard]] std::string manual(const Type& type, std::string_view title, std::string_view intro);

}  // namespace steelyard::schema
