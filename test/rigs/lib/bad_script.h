// How a back end can misbehave. A script is chosen for all requests (`choose`) or for one by the
// header `X-Bad: NAME` or the path `/bad/NAME`. Names:
//
//   rNNN           the answer of that case of http_cases.jsonl, byte for byte
//   cases          all of these cases that are no answers, in rotation
//   surplus        a right answer with another, complete one behind it (wrong nonce)
//   late-surplus   the same, 20 ms later, on the idle connection
//   sleep          no answer
//   drip           an answer of one byte every 100 ms, without end
//   storm          interim answers without end
//   huge-head      an answer whose head is 1 MiB
//   endless-head   a head that never ends
//   error          500 at once
//   status=NNN     that status at once
//   greeting       an answer before any request, on accept
//   close, reset   instead of an answer
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "test/rigs/lib/http.h"
#include "test/rigs/lib/net.h"

namespace steelyard::rigs {

class BadScript {
 public:
  explicit BadScript(const std::string& cases_file = {});
  void choose(std::string_view name) { all_ = name == "none" ? "" : name; }
  [[nodiscard]] bool greets() const { return all_ == "greeting"; }
  [[nodiscard]] bool wants(const Head& head) const { return !name_for(head).empty(); }
  // What goes out in one write with the right answer, behind it.
  [[nodiscard]] std::string surplus(const Head& head) const;
  // Answers badly. False: the request gets a right answer as well, by the caller, before what was
  // scheduled here.
  bool run(Loop& loop, const std::shared_ptr<Wire>& wire, const Head& head);

 private:
  struct Case {
    std::string id, raw, after;
    bool good;  // an answer that may be relayed, or none at all
  };
  [[nodiscard]] std::string name_for(const Head& head) const;
  bool play(Loop& loop, const std::shared_ptr<Wire>& wire, const Case& one) const;

  std::string all_;
  std::vector<Case> cases_;
  std::vector<std::size_t> malformed_;  // in `cases_`
  std::size_t next_ = 0;
};

}  // namespace steelyard::rigs
