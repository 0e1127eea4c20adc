// Options of an upstream's `apply:`: which other balancer its weights are written into, and how.
//
// Keys as in the manual: apply: { nginx: { file, test, reload, pid, gap, … } }. All durations are
// steady time. Plain values; pure.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "steelyard/base/time.h"
#include "steelyard/schema/field.h"

namespace steelyard::apply {

enum class Balance { kLeastConn, kRoundRobin };
constexpr auto schema_names(Balance) {
  return std::array{schema::Name{"least_conn", Balance::kLeastConn},
                    schema::Name{"round_robin", Balance::kRoundRobin}};
}

// How the file is replaced. A single file mounted into a container cannot be renamed over.
enum class Write { kRename, kInPlace };
constexpr auto schema_names(Write) {
  return std::array{schema::Name{"rename", Write::kRename},
                    schema::Name{"in_place", Write::kInPlace}};
}

// What happens when somebody else changes our file.
enum class OnEdit { kReassert, kStop };
constexpr auto schema_names(OnEdit) {
  return std::array{schema::Name{"reassert", OnEdit::kReassert},
                    schema::Name{"stop", OnEdit::kStop}};
}

struct NginxOptions {
  std::string file;
  std::vector<std::string> test{"nginx", "-t"};
  std::vector<std::string> reload{"nginx", "-s", "reload"};
  std::string pid = "/run/nginx.pid";
  base::Duration gap = std::chrono::seconds(5);
  base::Duration test_timeout = std::chrono::seconds(10);
  base::Duration verify_timeout = std::chrono::seconds(8);  // with the reload itself within 10 s
  base::Duration watch = std::chrono::seconds(3);
  Balance balance = Balance::kLeastConn;
  unsigned keepalive = 32;
  unsigned max_fails = 3;
  base::Duration fail_timeout = std::chrono::seconds(20);
  Write write = Write::kRename;
  OnEdit on_edit = OnEdit::kReassert;

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    using O = NginxOptions;
    return std::tuple{
        schema::field("file", &O::file,
                      "File with the upstream block, owned by steelyard as a whole. A file that "
                      "steelyard did not write is refused, never edited.",
                      schema::required(), schema::starts_with("/"),
                      schema::spelled(schema::Form::kLine)),
        schema::field("test", &O::test, "Command that checks the whole configuration of Nginx.",
                      schema::non_empty(), schema::spelled(schema::Form::kLine)),
        schema::field("reload", &O::reload,
                      "Command that makes Nginx load it; [systemctl, reload, nginx] works too.",
                      schema::non_empty(), schema::spelled(schema::Form::kLine)),
        schema::field("pid", &O::pid, "Pid file of the Nginx master, to see new workers serve.",
                      schema::starts_with("/"), schema::spelled(schema::Form::kLine)),
        schema::field("gap", &O::gap,
                      "Shortest time between two reloads of one Nginx; changes in between join.",
                      schema::between(milliseconds(100), hours(1))),
        schema::field("test_timeout", &O::test_timeout,
                      "Time for the test command, after which it is killed, and for the reload "
                      "command, after which it is given up.",
                      schema::between(milliseconds(100), seconds(120))),
        schema::field("verify_timeout", &O::verify_timeout,
                      "Time for new workers to serve after a reload; else the change is undone.",
                      schema::between(milliseconds(100), seconds(120))),
        schema::field("watch", &O::watch,
                      "Time for which new workers are watched for crashes before a change counts "
                      "as good.",
                      schema::between(milliseconds(0), seconds(120))),
        schema::field("balance", &O::balance, "How Nginx chooses: least_conn or round_robin."),
        schema::field("keepalive", &O::keepalive,
                      "Idle connections to nodes that each Nginx worker keeps; 0 for none.",
                      schema::between(0U, 10000U)),
        schema::field("max_fails", &O::max_fails,
                      "Failures within fail_timeout after which Nginx itself avoids a node; 0 for "
                      "never.",
                      schema::between(0U, 1000U)),
        schema::field(
            "fail_timeout", &O::fail_timeout,
            "Window of max_fails and time for which Nginx avoids the node; whole seconds.",
            schema::between(seconds(1), hours(1))),
        schema::field(
            "write", &O::write,
            "rename: replace the file at once. in_place: for a single file mounted into a "
            "container, where a rename is impossible."),
        schema::field("on_edit", &O::on_edit,
                      "When somebody else changed the file: reassert writes it again, once for "
                      "each edit; stop leaves it and raises an alarm."),
    };
  }
  void check(schema::Faults& faults) const {
    if (fail_timeout % std::chrono::seconds(1) != base::Duration::zero()) {
      faults.error("fail_timeout", "must be whole seconds, Nginx takes no fractions");
    }
    if (file.ends_with('/')) faults.error("file", "is a directory, must name a file");
    if (file.find('\0') != std::string::npos) faults.error("file", "contains a zero byte");
  }
  friend bool operator==(const NginxOptions&, const NginxOptions&) = default;
};

struct ApplyOptions {
  std::optional<NginxOptions> nginx;

  static constexpr auto fields() {
    return std::tuple{schema::field("nginx", &ApplyOptions::nginx,
                                    "Write the weights into the configuration of an Nginx.")};
  }
  friend bool operator==(const ApplyOptions&, const ApplyOptions&) = default;
};

}  // namespace steelyard::apply
