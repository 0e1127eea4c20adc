// What the ledger's client and nodes write down, and how it is kept in files: one line an event.
//
//   client:  A id method start_us end_us outcome status node nonce_ok body_ok
//   node:    S id method node at_us            a request's head has come
//            C id method node at_us bytes digest   its answer was handed over whole
//   weights: W at_us node state weight floor cap share
// Times are microseconds of the steady clock, one clock for the whole machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard::rigs {

using Micros = std::int64_t;
[[nodiscard]] Micros now_us();

enum class Outcome {
  kNone,       // never told: the client broke its own promise
  kAnswered,   // a whole answer
  kRefused,    // connect failed
  kReset,      // no byte of the answer, the connection was reset
  kClosed,     // no byte of the answer, the connection was closed
  kTruncated,  // an answer that began and did not end
  kGarbled,    // an answer that is no HTTP
  kTimedOut,   // nothing until the deadline
  kForeign,    // a whole 200 that no ledger node made
};
[[nodiscard]] std::string_view to_text(Outcome outcome);

struct Asked {
  std::uint64_t id = 0;
  bool post = false;
  Micros start = 0, end = 0;
  Outcome outcome = Outcome::kNone;
  int status = 0;  // also of an answer that was cut off
  std::string node;
  bool nonce_ok = true;  // false: somebody else's answer
  bool body_ok = true;
};

struct Served {
  std::uint64_t id = 0;
  bool post = false;
  std::string node;
  Micros at = 0;
  bool whole = false;  // false: seen; true: completed
  std::uint64_t bytes = 0, digest = 0;
};

struct Weighed {
  Micros at = 0;
  std::string node, state;
  double weight = 0, floor = 0, cap = 0, share = 0;
};

struct History {
  std::vector<Asked> asked;
  std::vector<Served> served;
  std::vector<Weighed> weighed;
};

[[nodiscard]] std::string line_of(const Asked& asked);
[[nodiscard]] std::string line_of(const Served& served);
[[nodiscard]] std::string line_of(const Weighed& weighed);
// Adds a file's events. False when it cannot be read; a last line that was cut off is left out.
bool read_history(const std::string& path, History& out);
bool write_history(const std::string& path, const History& history);

}  // namespace steelyard::rigs
