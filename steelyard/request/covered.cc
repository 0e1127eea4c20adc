#include "steelyard/request/covered.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "steelyard/request/conditions.h"
#include "steelyard/request/place.h"

namespace steelyard::request {
namespace {

struct Candidate {
  const MatchOptions* match;
  std::size_t count;
  std::vector<Network> clients;
};

// Conditions as words, so that a route finds those that ask for something it asks for too. A value
// that only an equal one implies has a word of its own; all others of a name share one.
constexpr std::string_view kNothing, kClients = "c";
constexpr char kLoose = '?';

std::string word(char kind, std::string_view name, char how, std::string_view value) {
  std::string out(1, kind);
  out.append(name).push_back('\0');
  out.push_back(how);
  return out.append(value);
}

std::string word_of(char kind, std::string_view name, const ValueOptions& value) {
  if (value.absent) return word(kind, name, 'a', {});
  if (value.prefix) return word(kind, name, kLoose, {});
  if (value.exact) return word(kind, name, '=', *value.exact);
  if (value.regex) return word(kind, name, '~', *value.regex);
  return word(kind, name, kLoose, {});
}

template <typename F>
void each_value(const MatchOptions& match, const F& tell) {
  for (const auto& [name, value] : match.headers) tell('h', lowered(name), value);
  for (const auto& [name, value] : match.cookies) tell('k', name, value);
  for (const auto& [name, value] : match.query) tell('q', name, value);
}

bool clients_imply(const Candidate& narrow, const Candidate& wide) {
  if (wide.match->clients.empty()) return true;
  if (narrow.match->clients.empty() || narrow.clients.size() != narrow.match->clients.size()) {
    return false;
  }
  return std::all_of(narrow.clients.begin(), narrow.clients.end(), [&](const Network& inner) {
    return std::any_of(wide.clients.begin(), wide.clients.end(),
                       [&](const Network& outer) { return outer.holds(inner); });
  });
}

// The routes of one host and path.
class Place {
 public:
  void add(std::size_t route, const MatchOptions& match) {
    Candidate made{&match, count_conditions(match), {}};
    for (const auto& text : match.clients) {
      if (const auto network = Network::parse(text)) made.clients.push_back(*network);
    }
    routes_.push_back(route);
    all_.push_back(std::move(made));
  }

  void tell(std::vector<std::optional<std::size_t>>& out) {
    if (all_.size() < 2) return;
    file();
    for (std::size_t at = 0; at < all_.size(); ++at) {
      if (const auto found = first(at); found != kNone) out[routes_[at]] = routes_[found];
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  using Filed = std::vector<std::size_t>;  // ascending

  // Each under one of the words that whoever it covers must have too: the rarest. Under every
  // method, when methods are all it asks for, since it must have each of the other's.
  void file() {
    std::unordered_map<std::string, std::size_t> how_many;
    for (const auto& one : all_) {
      each_value(*one.match, [&](char kind, const std::string& name, const ValueOptions& value) {
        ++how_many[word_of(kind, name, value)];
      });
    }
    for (std::size_t at = 0; at < all_.size(); ++at) {
      const MatchOptions& match = *all_[at].match;
      std::string rarest;
      std::size_t least = kNone;
      each_value(match, [&](char kind, const std::string& name, const ValueOptions& value) {
        auto made = word_of(kind, name, value);
        if (const auto many = how_many[made]; many < least) least = many, rarest = std::move(made);
      });
      if (least != kNone) {
        filed_[rarest].push_back(at);
      } else if (!match.methods.empty()) {
        for (const auto& method : match.methods) file_method(method, at);
      } else {
        filed_[std::string(match.clients.empty() ? kNothing : kClients)].push_back(at);
      }
    }
  }
  void file_method(std::string_view method, std::size_t at) {
    auto& filed = filed_["m" + std::string(method)];
    if (filed.empty() || filed.back() != at) filed.push_back(at);
  }

  [[nodiscard]] const Filed* filed(const std::string& word) const {
    const auto at = filed_.find(word);
    return at == filed_.end() ? nullptr : &at->second;
  }

  [[nodiscard]] std::size_t first(std::size_t at) const {
    const MatchOptions& match = *all_[at].match;
    std::size_t found = kNone;
    const auto among = [&](const Filed* filed) {
      if (filed == nullptr) return;
      for (const std::size_t other : *filed) {
        if (other >= found) return;
        if (covers(other, at)) found = other;
      }
    };
    each_value(match, [&](char kind, const std::string& name, const ValueOptions& value) {
      const auto own = word_of(kind, name, value);
      const auto loose = word(kind, name, kLoose, {});
      among(filed(own));
      if (!value.absent && own != loose) among(filed(loose));
    });
    const Filed* least = nullptr;
    for (const auto& method : match.methods) {
      const auto* const these = filed("m" + method);
      if (these == nullptr) least = nullptr;
      if (these == nullptr) break;
      if (least == nullptr || these->size() < least->size()) least = these;
    }
    among(least);
    if (!match.clients.empty()) among(filed(std::string(kClients)));
    if (all_[at].count == 0) among(filed(std::string(kNothing)));  // comes after all others
    return found;
  }

  [[nodiscard]] bool covers(std::size_t wide, std::size_t narrow) const {
    const Candidate& a = all_[wide];
    const Candidate& b = all_[narrow];
    const bool before = a.count > b.count || (a.count == b.count && wide < narrow);
    return before && clients_imply(b, a) && implies_but_clients(*b.match, *a.match);
  }

  std::vector<std::size_t> routes_;
  std::vector<Candidate> all_;
  std::unordered_map<std::string, Filed> filed_;
};

std::string place_of(const MatchOptions& match) {
  std::string out = host_of(match);
  const bool prefix = match.path_exact.empty() && match.path_regex.empty();
  for (const std::string_view part :
       {std::string_view(match.path_exact), std::string_view(match.path_regex),
        prefix ? prefix_of(match) : std::string_view()}) {
    out.push_back('\0');  // stands in no text of a configuration
    out.append(part);
  }
  return out;
}

}  // namespace

std::vector<std::optional<std::size_t>> covered_by(std::span<const RouteOptions> routes) {
  std::vector<std::optional<std::size_t>> out(routes.size());
  std::unordered_map<std::string, Place> places;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    places[place_of(routes[i].match)].add(i, routes[i].match);
  }
  for (auto& [name, place] : places) place.tell(out);
  return out;
}

}  // namespace steelyard::request
