// The whole configuration as options: typed, checked, immutable. Everyone's options.h in one place.
//
// `load` is the one way from text to a Document, at start and on reload; `from_flags` makes the
// same Document for a command line without a file. A Document holds no positions and no defaults
// that are still to be worked out, except `workers` 0. Plain values; share one by shared_ptr<const
// Document>.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "steelyard/admin/options.h"
#include "steelyard/apply/options.h"
#include "steelyard/base/address.h"
#include "steelyard/health/options.h"
#include "steelyard/model/upstream.h"
#include "steelyard/pick/registry.h"
#include "steelyard/proxy/options.h"
#include "steelyard/request/upstream_options.h"
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
        schema::field("address", &NodeOptions::address,
                      "Where it listens: an IP address with a port, as 10.0.0.1:80 or [::1]:80. "
                      "Names are not resolved; `localhost` alone stands for 127.0.0.1.",
                      schema::required()),
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
  request::UpstreamRules rules;
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
        schema::splice(&UpstreamOptions::rules),
        schema::field("apply", &UpstreamOptions::apply,
                      "Other balancers that the weights are written into.")};
  }
};

struct Document {
  std::vector<proxy::ListenerOptions> listeners;
  schema::Map<UpstreamOptions> upstreams;
  proxy::Options proxy;
  admin::Options admin;
  std::string pid_file;

  static constexpr auto fields() {
    return std::tuple{
        schema::field("listeners", &Document::listeners,
                      "Addresses that take requests, and where these go. May be left out where "
                      "every upstream is applied "
                      "to another balancer.",
                      schema::non_empty()),
        schema::field("upstreams", &Document::upstreams, "Sets of nodes, by name.",
                      schema::required(), schema::non_empty(), schema::identifier()),
        schema::splice(&Document::proxy),
        schema::field("admin", &Document::admin, "The admin API: state, metrics, overrides."),
        schema::field(
            "pid_file", &Document::pid_file,
            "File with the process id, which `steelyard -s reload` reads; empty for none.",
            schema::spelled(schema::Form::kLine), schema::until_restart())};
  }
};

// The nodes of an upstream with every default filled in.
[[nodiscard]] model::UpstreamSpec spec_of(std::string_view name, const UpstreamOptions& upstream);
// The name of a node that has none: "10.0.0.1-8080", "v6-2001-db8--1-80".
[[nodiscard]] std::string name_from(const base::Address& address);

}  // namespace steelyard::config
