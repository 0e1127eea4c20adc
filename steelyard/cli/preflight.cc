#include "steelyard/cli/preflight.h"

#include "steelyard/admin/access.h"
#include "steelyard/apply/drivers.h"
#include "steelyard/cli/engine_setup.h"
#include "steelyard/cli/pool.h"
#include "steelyard/config/load.h"
#include "steelyard/io/backend.h"
#include "steelyard/io/log_file.h"

namespace steelyard::cli {

void preflight(Source& source) {
  if (source.document == nullptr) return;
  const config::Document& document = *source.document;
  const auto refused = [&](std::string_view path, const base::Error& error, bool warning = false) {
    const auto place = config::place_of(source.text, path);
    if (warning) {
      source.problems.warn(place, path, error.describe());
    } else {
      source.problems.error(place, path, error.describe());
    }
  };
  if (const auto io = io::choose_backend(document.proxy.io); !io) refused("io", io.error());
  if (const auto access = admin::Access::make(document.admin); !access) {
    refused("admin", access.error());
  }
  if (const auto& file = document.proxy.log.file; !file.empty()) {
    if (const auto log = io::LogFile::check(file); !log) {
      refused("log.file", log.error(), log.error().code == base::Code::kDenied);
    }
  }
  if (const auto drivers = apply::Drivers::check(driver_targets(document)); !drivers) {
    refused("upstreams", drivers.error());
  }
  for (const auto& [path, text] : small_pools(document, workers_of(document))) {
    source.problems.warn(config::place_of(source.text, path), path, text);
  }
  source.report = source.problems.render(source.name);
  source.errors = source.problems.errors();
  source.warnings = source.problems.warnings();
  if (source.errors != 0) source.document = nullptr;
}

}  // namespace steelyard::cli
