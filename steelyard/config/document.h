// The whole configuration as options: typed, checked, immutable. Everyone's options.h in one place.
//
// `load` is the one way from text to a Document, at start and on reload; `from_flags` makes the
// same Document for a command line without a file. A Document holds no positions and no defaults
// that are still to be worked out, except `workers` 0. Plain values; share one by shared_ptr<const
// Document>.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "steelyard/admin/options.h"
#include "steelyard/apply/options.h"
#include "steelyard/base/address.h"
#include "steelyard/base/time.h"
#include "steelyard/health/options.h"
#include "steelyard/model/upstream.h"
#include "steelyard/pick/registry.h"
#include "steelyard/request/options.h"
#include "steelyard/schema/field.h"
#include "steelyard/sense/options.h"
#include "steelyard/weigh/options.h"

namespace steelyard::config {

struct NodeOptions {
  std::string name;  // after `load` never empty
  base::Address address;
  std::optional<double> weight;

  static constexpr double kDefaultWeight = 1;
  static constexpr std::string_view kShorthand = "address";
  static constexpr auto fields() {
    return std::tuple{
        schema::field("name", &NodeOptions::name,
                      "Name of the node, its identity within the upstream; what was learned stays "
                      "with it. Default: its "
                      "address with dashes for colons.",
                      schema::identifier()),
        schema::field("address", &NodeOptions::address, "Where it listens.", schema::required()),
        schema::field(
            "weight", &NodeOptions::weight,
            "Base weight relative to its siblings; 0 takes no new requests. Without it 1.",
            schema::between(0, 1'000'000))};
  }
};

struct UpstreamOptions {
  std::vector<NodeOptions> nodes;
  schema::Choice pick{std::string(pick::kDefaultPicker), nullptr};
  sense::Options sense;
  health::Options health;
  weigh::Options weigh;
  apply::ApplyOptions apply;

  static constexpr auto fields() {
    return std::tuple{
        schema::field("nodes", &UpstreamOptions::nodes,
                      "The nodes, in the order in which pickers see them.", schema::required()),
        schema::field("pick", &UpstreamOptions::pick, "How a node is chosen for a request.",
                      schema::choice_of(&pick::kinds)),
        schema::field("sense", &UpstreamOptions::sense, "What is collected from the nodes."),
        schema::field("health", &UpstreamOptions::health,
                      "What takes a node out of service and lets it back in."),
        schema::field("weigh", &UpstreamOptions::weigh, "How weights follow what the nodes show."),
        schema::field("apply", &UpstreamOptions::apply,
                      "Other balancers that the weights are written into.")};
  }
};

struct ListenerOptions {
  base::Address address;
  std::vector<request::RouteOptions> routes;

  static constexpr auto fields() {
    return std::tuple{
        schema::field(
            "address", &ListenerOptions::address,
            "Where clients connect; `:8080` is every address of this machine, port 0 a free port.",
            schema::required(), schema::any_address()),
        schema::field(
            "routes", &ListenerOptions::routes,
            "Where requests go; the most exact host and the longest path win, whatever the order.",
            schema::required(), schema::non_empty())};
  }
};

struct Document {
  std::vector<ListenerOptions> listeners;
  schema::Map<UpstreamOptions> upstreams;
  admin::Options admin;
  std::uint32_t workers = 0;
  std::string pid_file;
  base::Duration shutdown_timeout = std::chrono::seconds(30);

  static constexpr auto fields() {
    using std::chrono::hours;
    using std::chrono::seconds;
    return std::tuple{
        schema::field("listeners", &Document::listeners,
                      "Addresses that take requests, and where these go.", schema::required(),
                      schema::non_empty()),
        schema::field("upstreams", &Document::upstreams, "Sets of nodes, by name.",
                      schema::required(), schema::non_empty(), schema::identifier()),
        schema::field("admin", &Document::admin, "The admin API: state, metrics, overrides."),
        schema::field("workers", &Document::workers, "Worker threads; 0 is one for each processor.",
                      schema::between(0, 256), schema::until_restart()),
        schema::field(
            "pid_file", &Document::pid_file,
            "File with the process id, which `steelyard -s reload` reads; empty for none.",
            schema::until_restart()),
        schema::field("shutdown_timeout", &Document::shutdown_timeout,
                      "How long open requests may go on after TERM before they are cut off.",
                      schema::between(seconds(0), hours(24)))};
  }
};

// The nodes of an upstream with every default filled in.
[[nodiscard]] model::UpstreamSpec spec_of(std::string_view name, const UpstreamOptions& upstream);
// The name of a node that has none: "10.0.0.1-8080", "v6-2001-db8--1-80".
[[nodiscard]] std::string name_from(const base::Address& address);

}  // namespace steelyard::config
