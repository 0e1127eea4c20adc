#include "test/rigs/lib/judge.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace steelyard::rigs {
namespace {

class Judge {
 public:
  Judge(const History& history, const Rules& rules) : history_(history), rules_(rules) {}

  Verdict run() {
    for (const auto& one : history_.served) nodes_[one.id].push_back(&one);
    for (const auto& one : history_.asked) {
      ++out_.outcomes[(one.post ? "POST " : "GET ") + name_of(one)];
      crossed(one);
      completed(one);
      told(one);
      allowed(one);
    }
    seen_once();
    weights();
    recovery();
    return std::move(out_);
  }

 private:
  void violation(char rule, const std::string& text) {
    if (++out_.count <= 20) {
      out_.violations.push_back(std::string("rule (") + rule + "): " + text);
    }
  }
  static std::string id_of(const Asked& one) {
    return "id " + std::to_string(one.id) + (one.post ? " POST" : " GET");
  }

  void crossed(const Asked& one) {
    if (!one.nonce_ok) violation('a', id_of(one) + " got another request's answer");
    if (!one.body_ok) violation('a', id_of(one) + " got other bytes than were sent");
  }

  void seen_once() {
    for (const auto& [id, events] : nodes_) {
      const auto seen = std::count_if(events.begin(), events.end(),
                                      [](const Served* one) { return one->post && !one->whole; });
      if (seen > 1) {
        violation('b',
                  "id " + std::to_string(id) + " POST was seen " + std::to_string(seen) + " times");
      }
    }
  }

  void completed(const Asked& one) {
    if (one.outcome != Outcome::kAnswered || one.status < 200 || one.status > 299) return;
    const auto found = nodes_.find(one.id);
    const Served* last = nullptr;
    int times = 0;
    if (found != nodes_.end()) {
      for (const Served* event : found->second) {
        if (!event->whole || event->at > one.end) continue;  // later ones reached nobody
        ++times;
        if (last == nullptr || event->at > last->at) last = event;
      }
    }
    if (last == nullptr) return violation('c', id_of(one) + " was answered, but by no node");
    if (last->node != one.node) {
      violation('c', id_of(one) + " answered by " + one.node + ", completed last by " + last->node);
    }
    if (one.post && times > 1) violation('c', id_of(one) + " was completed by several nodes");
  }

  void told(const Asked& one) {
    if (one.outcome == Outcome::kNone) return violation('d', id_of(one) + " has no outcome");
    if (rules_.deadline > 0 && one.end - one.start > rules_.deadline) {
      violation('d', id_of(one) + " took " + std::to_string((one.end - one.start) / 1000) + " ms");
    }
  }

  void allowed(const Asked& one) {
    if (is_good(one)) return;
    const bool meanwhile = rules_.fault_to > 0 && one.end >= rules_.fault_from &&
                           one.start <= rules_.fault_to + rules_.grace;
    const auto name = name_of(one);
    if (meanwhile && (rules_.any.contains(name) || (one.post && rules_.post.contains(name))))
      return;
    const auto since = static_cast<double>(one.end - rules_.fault_from) / 1e6;
    violation('e', id_of(one) + " ended as " + name +
                       (rules_.fault_to > 0 ? ", " + std::to_string(since) + " s into the fault"
                                            : std::string()));
  }

  void weights() {
    std::map<Micros, double> sums;
    for (const auto& one : history_.weighed) {
      sums[one.at] += one.share;
      const bool finite = std::isfinite(one.weight) && std::isfinite(one.share);
      if (!finite || one.weight < one.floor * (1 - 1e-9) || one.weight > one.cap * (1 + 1e-9)) {
        violation('f', one.node + " weighs " + std::to_string(one.weight) + ", not " +
                           std::to_string(one.floor) + " to " + std::to_string(one.cap));
      }
    }
    for (const auto& [at, sum] : sums) {
      if (std::abs(sum - 1) > 1e-6) violation('f', "shares add up to " + std::to_string(sum));
    }
  }

  // Candidates for the moment of recovery are the fault's end and 100 ms steps after it.
  void recovery() {
    if (rules_.fault_to == 0) return;
    std::vector<const Asked*> ends;
    for (const auto& one : history_.asked) ends.push_back(&one);
    std::sort(ends.begin(), ends.end(),
              [](const Asked* a, const Asked* b) { return a->end < b->end; });
    if (ends.empty()) return;
    const Micros last = ends.back()->end;
    for (Micros from = rules_.fault_to; from + rules_.quiet <= last; from += 100'000) {
      if (!calm(ends, from)) continue;
      out_.recovery_s = static_cast<double>(from - rules_.fault_to) / 1e6;
      return;
    }
  }

  bool calm(const std::vector<const Asked*>& ends, Micros from) const {
    const auto before = [](const Asked* one, Micros at) { return one->end < at; };
    const auto first = std::lower_bound(ends.begin(), ends.end(), from, before);
    const auto end = std::lower_bound(first, ends.end(), from + rules_.quiet, before);
    if (first == end) return false;
    std::map<std::string, double> parts;
    for (auto at = first; at != end; ++at) {
      if (!is_good(**at)) return false;
      parts[(*at)->node] += 1;
    }
    const auto all = static_cast<double>(end - first);
    return std::all_of(rules_.targets.begin(), rules_.targets.end(), [&](const auto& target) {
      const double part = parts[target.first] / all;
      return std::abs(part - target.second) <= rules_.share_error * target.second;
    });
  }

  const History& history_;
  const Rules& rules_;
  Verdict out_;
  std::unordered_map<std::uint64_t, std::vector<const Served*>> nodes_;
};

}  // namespace

std::string name_of(const Asked& one) {
  if (one.outcome == Outcome::kAnswered) return std::to_string(one.status);
  return std::string(to_text(one.outcome));
}

Verdict judge(const History& history, const Rules& rules) { return Judge(history, rules).run(); }

}  // namespace steelyard::rigs
