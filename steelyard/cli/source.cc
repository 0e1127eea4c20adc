#include "steelyard/cli/source.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "steelyard/cli/files.h"
#include "steelyard/io/file.h"

namespace steelyard::cli {
namespace {

constexpr std::string_view kToFlag = "--to";
constexpr std::string_view kListenFlag = "--listen";

Source failed(std::string name, std::string text) {
  Source out;
  out.report = std::move(text) + "\n";
  out.name = std::move(name);
  out.errors = 1;
  return out;
}

}  // namespace

std::string config_file(const ConfigFlags& flags) {
  if (!flags.file.empty()) return flags.file;
  const char* const named = std::getenv(kConfigVariable);
  return named != nullptr && *named != '\0' ? named : kDefaultConfig;
}

Source load_source(const ConfigFlags& flags) {
  if (!flags.to.empty()) {
    auto document = config::from_flags(flags.listen, flags.to);
    if (!document) {
      std::string why = document.error().text;
      const bool listen = why.starts_with(kListenFlag);
      if (listen && flags.listen.find(',') != std::string::npos) {
        why += fmt::format("; {} takes one, a configuration file takes more", kListenFlag);
      }
      return failed(std::string(listen ? kListenFlag : kToFlag), std::move(why));
    }
    Source out;
    out.name = kToFlag;
    out.document = std::make_shared<const config::Document>(std::move(*document));
    return out;
  }
  const std::string file = config_file(flags);
  auto text = io::read_file(file);
  if (!text) {
    std::string why = text.error().describe();
    if (flags.file.empty()) {
      why += fmt::format(" (name a file, set {}, or use --to HOST:PORT,…)", kConfigVariable);
    }
    return failed(file, std::move(why));
  }
  return load_text(file, std::move(*text));
}

std::string_view first_error(const Source& source) {
  std::string_view rest = source.report;
  for (const auto& problem : source.problems.list()) {
    if (!problem.warning) break;
    rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()));
  }
  return rest.substr(0, rest.find('\n'));
}

Source load_text(const std::string& name, std::string text) {
  auto loaded = config::load(text, name);
  Source out;
  out.name = name;
  out.text = std::move(text);
  if (loaded.document) check_files(*loaded.document, out, loaded.problems);
  out.report = loaded.report();
  out.errors = loaded.problems.errors();
  out.warnings = loaded.problems.warnings();
  if (loaded.document && loaded.problems.ok()) {
    out.document = std::make_shared<const config::Document>(std::move(*loaded.document));
  }
  out.problems = std::move(loaded.problems);
  return out;
}

}  // namespace steelyard::cli
