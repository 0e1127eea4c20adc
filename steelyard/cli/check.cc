// steelyard check: everything that is wrong with a configuration, at once; also its schema and
// manual.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "steelyard/cli/command.h"
#include "steelyard/cli/plan.h"
#include "steelyard/cli/pool.h"
#include "steelyard/cli/preflight.h"
#include "steelyard/cli/source.h"

namespace steelyard::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string as_json(const Source& source) {
  Json list = Json::array();
  for (const auto& problem : source.problems.list()) {
    list.push_back(Json{{"line", problem.place.line},
                        {"column", problem.place.column},
                        {"path", problem.path},
                        {"text", problem.text},
                        {"severity", problem.warning ? "warning" : "error"}});
  }
  if (source.problems.list().empty() && source.document == nullptr) {  // there was nothing to check
    std::string_view text = source.report;
    while (text.ends_with('\n')) text.remove_suffix(1);
    list.push_back(
        Json{{"line", 0}, {"column", 0}, {"path", ""}, {"text", text}, {"severity", "error"}});
  }
  return Json{{"file", source.name},
              {"ok", source.document != nullptr},
              {"problems", std::move(list)}}
             .dump(2) +
         "\n";
}

}  // namespace

int check(const CheckFlags& flags) {
  if (flags.schema) {
    fmt::print("{}", config::render_schema());
    return kOk;
  }
  if (flags.manual) {
    fmt::print("{}", config::manual());
    return kOk;
  }
  Source source = load_source(flags.config);
  preflight(source);
  if (flags.json) {
    fmt::print("{}", as_json(source));
  } else {
    fmt::print(stderr, "{}", source.report);
  }
  const bool ok = source.document != nullptr;
  if (flags.nginx_words && !flags.quiet) {
    if (ok) fmt::print(stderr, "steelyard: the configuration file {} syntax is ok\n", source.name);
    fmt::print(stderr, "steelyard: configuration file {} test {}\n", source.name,
               ok ? "is successful" : "failed");
  } else if (ok && !flags.quiet && !flags.json) {
    const auto& document = *source.document;
    fmt::print("{}{}", plan_of(document), pool_words(document, workers_of(document)));
    fmt::print("{}: fine{}\n", source.name,
               source.warnings == 0 ? ""
                                    : fmt::format(", {} warning{}", source.warnings,
                                                  source.warnings == 1 ? "" : "s"));
  } else if (!ok && !flags.json) {
    fmt::print(stderr, "{}: {} error{}\n", source.name, source.errors,
               source.errors == 1 ? "" : "s");
  }
  if (!ok) return kFailure;
  return flags.strict && source.warnings > 0 ? kWarnings : kOk;
}

}  // namespace steelyard::cli
