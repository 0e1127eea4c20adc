// load(): configuration text → Document, or everything that is wrong with it. Also the generated
// schema and manual.
//
// A text with any error gives no Document, so nothing can be half applied; warnings come beside a
// Document. Pure: whoever calls reads the file. Cost: a few milliseconds for a large file; for
// start, reload and `check`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "steelyard/base/result.h"
#include "steelyard/config/document.h"
#include "steelyard/control/brain.h"
#include "steelyard/schema/problems.h"

namespace steelyard::config {

// `run --to a,b` listens here unless --listen says otherwise.
inline constexpr std::string_view kDefaultListener = "127.0.0.1:8080";
// The one upstream of a Document made from flags.
inline constexpr std::string_view kFlagsUpstream = "default";

struct Loaded {
  std::string file;                  // as messages name it
  std::optional<Document> document;  // nothing when there are errors
  schema::Problems problems;

  [[nodiscard]] bool ok() const noexcept { return document.has_value(); }
  // `file:line:column: path: what is wrong`, a line each, sorted by place.
  [[nodiscard]] std::string report() const { return problems.render(file); }
};
[[nodiscard]] Loaded load(std::string_view text, std::string_view file_name);

// Where the option at this path stands in a text that was read well, or what it would stand in.
[[nodiscard]] schema::Place place_of(std::string_view text, std::string_view path);

// What pid_file says, also where the rest is broken; empty when it says nothing.
[[nodiscard]] std::string pid_file_in(std::string_view text);

// One listener that sends everything to the nodes at these addresses. `listen` empty:
// kDefaultListener; `:8080` works.
[[nodiscard]] base::Result<Document> from_flags(std::string_view listen,
                                                std::span<const std::string> to);

// What the brain needs of a Document, upstreams in its order.
[[nodiscard]] control::Setup brain_setup(const Document& document);

// How the requests to each upstream are ruled, as proxy::Config::make takes it.
[[nodiscard]] schema::Map<request::UpstreamRules> rules_of(const Document& document);

// Options that a reload does not change, as paths; and those of them that differ.
[[nodiscard]] std::vector<std::string> fixed_options();
[[nodiscard]] std::vector<std::string> fixed_changes(Document before, Document after);

// Committed as docs/config.schema.json and docs/configuration.md.
[[nodiscard]] std::string render_schema();
[[nodiscard]] std::string manual();

}  // namespace steelyard::config
