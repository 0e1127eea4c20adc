#include "steelyard/apply/drivers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "steelyard/apply/nginx/driver.h"
#include "steelyard/apply/nginx/lane.h"

namespace steelyard::apply {
namespace {

using nginx::Lane;
using nginx::NginxDriver;

base::Error wrong(std::string text) {
  return {.code = base::Code::kInvalid, .origin = base::Origin::kOperator, .text = std::move(text)};
}

}  // namespace

base::Result<void> Drivers::check(const std::vector<Target>& targets) {
  std::set<std::string_view> upstreams;
  std::map<std::string_view, std::string_view> files;
  std::map<std::string_view, const Target*> lanes;
  for (const auto& t : targets) {
    if (!t.options.nginx) continue;
    const NginxOptions& o = *t.options.nginx;
    if (!upstreams.insert(t.upstream).second) {
      return wrong("upstream " + t.upstream + " is there twice");
    }
    const auto [file, fresh] = files.emplace(o.file, t.upstream);
    if (!fresh) {
      return wrong("upstreams " + std::string(file->second) + " and " + t.upstream +
                   " both write " + o.file);
    }
    const auto [lane, first] = lanes.emplace(o.pid, &t);
    if (!first && !nginx::same_lane(*lane->second->options.nginx, o)) {
      return wrong("upstreams " + lane->second->upstream + " and " + t.upstream +
                   " drive the Nginx of " + o.pid +
                   " and must agree on test, reload, gap, watch, on_edit and the timeouts");
    }
  }
  return {};
}

struct Drivers::Inside {
  Inside(io::Reactor& r, Events& e) : reactor(r), events(e) {}

  Lane& lane_for(const NginxOptions& options);
  void drop_idle_lanes();

  io::Reactor& reactor;
  Events& events;
  std::map<std::string, std::unique_ptr<Lane>> lanes;                         // by pid file
  std::vector<std::pair<std::string, std::unique_ptr<NginxDriver>>> drivers;  // die before lanes
};

// The lane of this Nginx; made anew when what its upstreams share was changed. What the former one
// was to remove is handed on.
Lane& Drivers::Inside::lane_for(const NginxOptions& options) {
  auto& lane = lanes[options.pid];
  if (lane && nginx::same_lane(lane->options(), options)) return *lane;
  std::vector<std::pair<std::string, std::string>> leaving;
  if (lane) {
    for (const auto& [file, target] : lane->machine().targets()) {
      if (target.retired) leaving.emplace_back(file, lane->upstreams().find(file)->second);
    }
    lane.reset();  // drops its locks first
  }
  lane = std::make_unique<Lane>(reactor, options, events);
  for (const auto& [file, upstream] : leaving) {
    NginxOptions old = options;
    old.file = file;
    lane->add(upstream, old);
    lane->retire(file);
  }
  return *lane;
}

void Drivers::Inside::drop_idle_lanes() {
  std::erase_if(lanes, [&](const auto& entry) {
    const bool used = std::any_of(drivers.begin(), drivers.end(), [&](const auto& d) {
      return &d.second->lane() == entry.second.get();
    });
    return !used && entry.second->machine().targets().empty();
  });
}

Drivers::Drivers(io::Reactor& reactor, Events& events)
    : inside_(std::make_unique<Inside>(reactor, events)) {}

Drivers::~Drivers() = default;

base::Result<void> Drivers::configure(const std::vector<Target>& targets) {
  if (auto checked = check(targets); !checked) return checked;
  auto& in = *inside_;
  std::vector<std::pair<std::string, std::unique_ptr<NginxDriver>>> next;
  for (auto& [upstream, driver] : in.drivers) {
    const auto next_of_file = std::find_if(targets.begin(), targets.end(), [&](const Target& t) {
      return t.options.nginx && t.options.nginx->file == driver->options().file;
    });
    if (next_of_file == targets.end()) {
      driver->lane().retire(driver->options().file);
    } else if (next_of_file->options.nginx->pid != driver->options().pid) {
      driver->lane().leave(driver->options().file);
    }
  }
  // A lane that is made anew must not be under a driver, so the unchanged ones are sorted out
  // first.
  for (const Target& t : targets) {
    if (!t.options.nginx) continue;
    const auto same = std::find_if(in.drivers.begin(), in.drivers.end(), [&](const auto& d) {
      return d.second != nullptr && d.first == t.upstream &&
             d.second->options() == *t.options.nginx;
    });
    next.emplace_back(t.upstream, same == in.drivers.end() ? nullptr : std::move(same->second));
  }
  in.drivers.clear();
  std::size_t at = 0;
  for (const Target& t : targets) {
    if (!t.options.nginx) continue;
    auto& driver = next[at++].second;
    if (driver) continue;
    Lane& lane = in.lane_for(*t.options.nginx);
    driver = std::make_unique<NginxDriver>(lane, in.events, t.upstream, *t.options.nginx);
  }
  in.drivers = std::move(next);
  in.drop_idle_lanes();
  return {};
}

void Drivers::want(const model::Table& table) {
  for (auto& [upstream, driver] : inside_->drivers) {
    if (const auto* wanted = table.find(upstream)) driver->want(*wanted, table.number);
  }
  inside_->drop_idle_lanes();
}

Driver* Drivers::find(std::string_view upstream) noexcept {
  for (auto& [name, driver] : inside_->drivers) {
    if (name == upstream) return driver.get();
  }
  return nullptr;
}

std::vector<Status> Drivers::statuses() const {
  std::vector<Status> out;
  for (const auto& [upstream, driver] : inside_->drivers) out.push_back(driver->status());
  for (const auto& [pid, lane] : inside_->lanes) {
    for (const auto& [file, target] : lane->machine().targets()) {
      if (target.retired) out.push_back(nginx::lane_status(*lane, target));
    }
  }
  return out;
}

}  // namespace steelyard::apply
