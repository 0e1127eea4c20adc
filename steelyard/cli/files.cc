#include "steelyard/cli/files.h"

#include <fmt/format.h>
#include <string>
#include <vector>

#include "steelyard/config/load.h"
#include "steelyard/io/log_file.h"
#include "steelyard/io/same_file.h"

namespace steelyard::cli {
namespace {

struct Named {
  std::string key;  // empty: the configuration file itself
  std::string file;
  bool only_read = false;
};

std::vector<Named> files_of(const config::Document& document, const std::string& self) {
  std::vector<Named> out{{.key = "", .file = self, .only_read = true}};
  const auto add = [&](std::string key, const std::string& file, bool only_read = false) {
    if (!file.empty() && file != "-") out.push_back({std::move(key), file, only_read});
  };
  add("pid_file", document.pid_file);
  add("log.file", document.proxy.log.file);
  for (const auto& [name, upstream] : document.upstreams) {
    if (!upstream.apply.nginx) continue;
    const auto nginx = "upstreams." + name + ".apply.nginx.";
    add(nginx + "file", upstream.apply.nginx->file);
    add(nginx + "pid", upstream.apply.nginx->pid, true);
  }
  return out;
}

}  // namespace

void check_files(const config::Document& document, const Source& source,
                 schema::Problems& problems) {
  const auto refuse = [&](const std::string& key, const std::string& text) {
    problems.error(config::place_of(source.text, key), key, text);
  };
  const auto files = files_of(document, source.name);
  for (std::size_t i = 1; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto& [key, file, only_read] = files[i];
      const auto& other = files[j];
      // Several upstreams may be of one Nginx.
      if ((only_read && other.only_read) || !io::same_file(file, other.file)) continue;
      const auto place = config::place_of(source.text, other.key);
      refuse(key, other.key.empty() ? fmt::format("is \"{}\", the configuration file itself", file)
                                    : fmt::format("is \"{}\", the same file as {} ({}:{})", file,
                                                  other.key, place.line, place.column));
      break;
    }
  }
  if (io::is_special_file(document.pid_file))
    refuse("pid_file", fmt::format("is \"{}\", which is no regular file", document.pid_file));
  if (const auto& file = document.proxy.log.file; !file.empty()) {
    const auto log = io::LogFile::check(file);
    if (!log && log.error().code != base::Code::kDenied) refuse("log.file", log.error().describe());
  }
}

}  // namespace steelyard::cli
