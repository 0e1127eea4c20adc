// read<T>(): a positioned tree → typed options, by T's field table. The only way from a document to
// options.
//
// All that is wrong is collected in `problems` with its place; what could be read is read, so that
// later checks find more. When problems has errors afterwards the result must not be used. Nothing
// is repaired: unknown and duplicate keys, values of the wrong kind, out of range or empty are
// errors. A written list or map replaces the default one; a written struct changes the fields it
// names. Cost: one walk; for loading only.
#pragma once

#include <string>
#include <string_view>

#include "steelyard/schema/describe.h"
#include "steelyard/schema/problems.h"
#include "steelyard/schema/tree.h"

namespace steelyard::schema {

// Into an object of the described type. `path` is where `node` stands in the document ("" for its
// root).
void read_into(const Node& node, const Type& type, void* into, std::string_view path,
               Problems& problems);

// Keys that stand twice in one mapping, anywhere below `node`.
void report_duplicates(const Node& node, std::string_view path, Problems& problems);

template <typename T>
[[nodiscard]] T read(const Node& node, Problems& problems, std::string_view path = "") {
  T out;
  report_duplicates(node, path, problems);
  read_into(node, describe<T>(), &out, path, problems);
  return out;
}

}  // namespace steelyard::schema
