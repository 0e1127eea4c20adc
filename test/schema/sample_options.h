// An options struct with a field of every type, for the tests of reading and generating.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "steelyard/base/address.h"
#include "steelyard/base/bytes.h"
#include "steelyard/base/time.h"
#include "steelyard/schema/describe.h"
#include "steelyard/schema/field.h"

namespace steelyard::schema::sample {

enum class Mode { kRelative, kAbsolute };
constexpr auto schema_names(Mode) {
  return std::array{Name{"relative", Mode::kRelative}, Name{"absolute", Mode::kAbsolute}};
}

struct RingOptions {
  std::uint32_t points = 160;
  std::string key;
  static constexpr auto fields() {
    return std::tuple{field("points", &RingOptions::points, "Points a node.", between(1, 10000)),
                      field("key", &RingOptions::key, "What is hashed.", required())};
  }
};

struct Entry {
  std::string_view name, summary;
  Describe options = nullptr;
};
inline std::span<const Entry> entries() {
  static constexpr std::array kEntries{Entry{"round_robin", "In turn.", nullptr},
                                       Entry{"ring", "By key.", &describe<RingOptions>}};
  return kEntries;
}

struct Probe {
  std::string path = "/health";
  base::Duration interval = std::chrono::seconds(5);
  base::Duration timeout = std::chrono::seconds(1);
  static constexpr std::string_view kShorthand = "path";
  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::milliseconds;
    return std::tuple{field("path", &Probe::path, "Path.", starts_with("/")),
                      field("interval", &Probe::interval, "Time between two.",
                            between(milliseconds(100), hours(1))),
                      field("timeout", &Probe::timeout, "Time for one.")};
  }
  void check(Faults& faults) const {
    if (timeout > interval) faults.error("timeout", "is longer than interval");
    if (timeout == interval) faults.warn("", "leaves no pause");
  }
};

struct Inner {
  bool fast = false;
  std::uint32_t depth = 3;
  static constexpr auto fields() {
    return std::tuple{field("fast", &Inner::fast, "Fast."),
                      field("depth", &Inner::depth, "Depth.", at_least(1))};
  }
};

struct All {
  bool on = true;
  std::int8_t tiny = -1;
  std::uint16_t port = 80;
  double factor = 1.5;
  double share = 0.2;
  base::Duration wait = std::chrono::seconds(30);
  base::Bytes size = base::mib(10);
  std::string text = "abc";
  std::string word = "GET";
  std::string name = "x";
  std::string full = "f";
  base::Address address = base::Address::loopback(80);
  base::Address any;
  Mode mode = Mode::kAbsolute;
  Choice pick{"round_robin", nullptr};
  Probe probe;
  std::optional<double> maybe;
  std::optional<Probe> extra;
  std::optional<Probe> preset = Probe{.path = "/preset", .interval = std::chrono::seconds(7)};
  std::vector<std::uint32_t> steps = {1, 2};
  std::vector<std::string> command = {"nginx", "-t"};
  std::vector<Probe> probes;
  Map<std::uint32_t> counts;
  Inner inner;

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::seconds;
    return std::tuple{
        field("on", &All::on, "A switch."),
        field("tiny", &All::tiny, "A small number."),
        field("port", &All::port, "A port.", at_least(1)),
        field("factor", &All::factor, "A number.", between(0.5, 4)),
        field("share", &All::share, "A share | part.", ratio()),
        field("wait", &All::wait, "A time.", between(seconds(1), hours(1)), until_restart()),
        field("size", &All::size, "A size.", between(base::kib(1), base::mib(64))),
        field("text", &All::text, "A text."),
        field("word", &All::word, "A word.", one_of("GET", "HEAD")),
        field("name", &All::name, "A name.", identifier()),
        field("full", &All::full, "Not empty.", non_empty()),
        field("address", &All::address, "An address."),
        field("any", &All::any, "Any address.", any_address()),
        field("mode", &All::mode, "A mode."),
        field("pick", &All::pick, "A picker.", choice_of(&entries)),
        field("probe", &All::probe, "A struct."),
        field("maybe", &All::maybe, "A number or none.", between(0, 10)),
        field("extra", &All::extra, "A struct or none."),
        field("preset", &All::preset, "A struct, on at first."),
        field("steps", &All::steps, "Numbers.", non_empty()),
        field("command", &All::command, "Words."),
        field("probes", &All::probes, "Structs."),
        field("counts", &All::counts, "Numbers by name.", identifier()),
        splice(&All::inner)};
  }
};

}  // namespace steelyard::schema::sample
