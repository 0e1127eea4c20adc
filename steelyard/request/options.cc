// What one field of a route cannot say alone.
#include "steelyard/request/options.h"

#include <algorithm>

#include "steelyard/request/key.h"
#include "steelyard/request/network.h"

namespace steelyard::request {
namespace {

bool is_token(std::string_view text) {
  return !text.empty() && schema::has_form(schema::Form::kToken, text);
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

void check_split(const std::vector<SplitOptions>& split, schema::Faults& faults) {
  double sum = 0;
  for (auto at = split.begin(); at != split.end(); ++at) {
    sum += at->weight;
    const auto same = [&](const SplitOptions& other) { return other.upstream == at->upstream; };
    if (std::any_of(split.begin(), at, same)) {
      faults.error("split", "names " + quoted(at->upstream) + " twice");
    }
  }
  if (sum <= 0) faults.error("split", "has only weights of 0: no request could go anywhere");
}

}  // namespace

void MatchOptions::check(schema::Faults& faults) const {
  const bool other_path = !path_exact.empty() || !path_regex.empty();
  if (other_path && path != "/") {
    faults.error(path_exact.empty() ? "path_regex" : "path_exact",
                 "stands beside path: a route has one of path, path_exact and path_regex");
  } else if (!path_exact.empty() && !path_regex.empty()) {
    faults.error("path_regex", "stands beside path_exact: a route has one of them");
  }
  if (!path_exact.empty() &&
      (path_exact[0] != '/' || path_exact.find_first_of("?#") != path_exact.npos)) {
    faults.error("path_exact",
                 "is " + quoted(path_exact) +
                     ", must start with \"/\" and have no query: nothing would match");
  }
  for (const auto& method : methods) {
    const bool lower =
        std::any_of(method.begin(), method.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (!is_token(method)) {
      faults.error("methods", "names " + quoted(method) + ", which is no method");
    } else if (lower) {
      faults.warn("methods", "names " + quoted(method) + ": methods are compared in case too");
    }
  }
  for (auto at = headers.begin(); at != headers.end(); ++at) {
    const auto same = [&](const auto& other) { return schema::same_word(other.first, at->first); };
    if (const auto first = std::find_if(headers.begin(), at, same); first != at) {
      faults.error("headers." + at->first, "is the same header as " + quoted(first->first) +
                                               ": names are compared without case");
    }
  }
  for (const auto& text : clients) {
    if (const auto network = Network::parse(text); !network) {
      faults.error("clients", "names " + quoted(text) + ", which " + network.error().text);
    }
  }
}

void RouteOptions::check(schema::Faults& faults) const {
  for (const auto& protocol : upgrades) {
    const auto slash = protocol.find('/');
    const bool good = is_token(protocol.substr(0, slash)) &&
                      (slash == protocol.npos || is_token(protocol.substr(slash + 1)));
    if (!good) faults.error("upgrades", "names " + quoted(protocol) + ", which is no protocol");
  }
  const auto source = KeySource::parse(split_by);
  if (!source) faults.error("split_by", "is " + quoted(split_by) + ", " + source.error().text);
  if (!faults.good("upstream") || !faults.good("split")) return;
  if (upstream.empty() && split.empty()) {
    return faults.error("", "has no \"upstream\", which is required where there is no split");
  }
  if (!upstream.empty() && !split.empty()) {
    return faults.error("split", "stands beside upstream: a route has one of them");
  }
  if (source && split.empty() && split_by != "random") {
    faults.warn("split_by", "has no effect: there is no split");
  }
  if (!split.empty()) check_split(split, faults);
}

}  // namespace steelyard::request
