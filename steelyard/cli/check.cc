// steelyard check: everything that is wrong with a configuration, at once; also its schema and
// manual.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "steelyard/cli/command.h"
#include "steelyard/cli/source.h"
#include "steelyard/weigh/choose.h"

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
  return Json{{"file", source.name},
              {"ok", source.document != nullptr},
              {"problems", std::move(list)}}
             .dump(2) +
         "\n";
}

// What an operator wants to know beside "fine": which law will move each upstream's weights, and
// why.
void describe(const config::Document& document) {
  for (const auto& [name, upstream] : document.upstreams) {
    const auto choice =
        weigh::choose(upstream.weigh.controller.name, upstream.sense.score.has_value());
    fmt::print("upstream {}: {} nodes, picked by {}; weights by {}: {}\n", name,
               upstream.nodes.size(), upstream.pick.name, choice.controller, choice.why);
  }
  fmt::print("fixed until restart: workers, pid_file, clients.max_head, clients.max_body\n");
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
  const Source source = load_source(flags.config);
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
    describe(*source.document);
    fmt::print("{}: fine{}\n", source.name,
               source.warnings == 0 ? "" : fmt::format(", {} warnings", source.warnings));
  } else if (!ok && !flags.json) {
    fmt::print(stderr, "{}: {} error{}\n", source.name, source.errors,
               source.errors == 1 ? "" : "s");
  }
  if (!ok) return kFailure;
  return flags.strict && source.warnings > 0 ? kWarnings : kOk;
}

}  // namespace steelyard::cli
