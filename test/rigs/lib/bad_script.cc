#include "test/rigs/lib/bad_script.h"

#include <algorithm>
#include <functional>

#include "test/rigs/lib/cases.h"

namespace steelyard::rigs {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kPoison =
    "HTTP/1.1 200 OK\r\nX-Ledger-Node: poison\r\nX-Ledger-Nonce: poison\r\nX-Ledger-Digest: "
    "0\r\nContent-Length: 6\r\n\r\npoison";

// Sends `bytes` every `gap` while the connection lasts and its queue is short.
void repeat(Loop& loop, const std::weak_ptr<Wire>& to, const std::string& bytes, Span gap) {
  const auto wire = to.lock();
  if (wire == nullptr || !wire->open()) return;
  if (wire->queued() < (1U << 20U)) wire->send(bytes);
  loop.after(gap, [&loop, to, bytes, gap] { repeat(loop, to, bytes, gap); });
}

std::string huge_head() {
  std::string out = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
  for (int i = 0; out.size() < (1U << 20U); ++i) {
    out += "X-Field-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n";
  }
  return out + "\r\n";
}

}  // namespace

BadScript::BadScript(const std::string& cases_file) {
  if (cases_file.empty()) return;
  for (const auto& row : load_cases(cases_file, "response")) {
    const auto accept = row["accept"].dump();
    bool good = false;
    for (const auto* const word : {"relay", "drop_field", "discard"}) {
      good = good || accept.find(word) != std::string::npos;
    }
    cases_.push_back({row["id"], raw_of(row), row["backend_after"], good});
    if (!good) malformed_.push_back(cases_.size() - 1);
  }
}

std::string BadScript::name_for(const Head& head) const {
  if (const auto name = head.field("X-Bad"); !name.empty()) return std::string(name);
  constexpr std::string_view kPath = "/bad/";
  if (head.target().starts_with(kPath)) return std::string(head.target().substr(kPath.size()));
  return all_;
}

std::string BadScript::surplus(const Head& head) const {
  return name_for(head) == "surplus" ? std::string(kPoison) : std::string();
}

bool BadScript::play(Loop& loop, const std::shared_ptr<Wire>& wire, const Case& one) const {
  wire->send(one.raw);
  if (one.after == "fin") wire->shutdown_write();
  if (one.after == "rst") {
    loop.after(milliseconds(20), [weak = std::weak_ptr(wire)] {
      if (const auto open = weak.lock()) open->reset();
    });
  }
  return true;
}

bool BadScript::run(Loop& loop, const std::shared_ptr<Wire>& wire, const Head& head) {
  const auto name = head.first.empty() ? all_ : name_for(head);
  const std::weak_ptr<Wire> weak = wire;
  const auto then = [&](Span delay, const std::function<void(Wire&)>& what) {
    loop.after(delay, [weak, what] {
      if (const auto open = weak.lock()) what(*open);
    });
  };
  if (name == "cases" && !malformed_.empty()) {
    return play(loop, wire, cases_[malformed_[next_++ % malformed_.size()]]);
  }
  if (name == "surplus") return false;
  if (name == "late-surplus") {
    then(milliseconds(20), [](Wire& open) { open.send(kPoison); });
    return false;
  }
  if (name == "sleep") return true;
  if (name == "drip") {
    wire->send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    repeat(loop, weak, "x", milliseconds(100));
  } else if (name == "storm") {
    repeat(loop, weak, "HTTP/1.1 102 Processing\r\n\r\n", milliseconds(1));
  } else if (name == "huge-head") {
    wire->send(huge_head());
  } else if (name == "endless-head") {
    wire->send("HTTP/1.1 200 OK\r\n");
    repeat(loop, weak, "X-More: " + std::string(8000, 'x') + "\r\n", milliseconds(1));
  } else if (name == "greeting") {
    wire->send(kPoison);
  } else if (name == "error" || name.starts_with("status=")) {
    const auto status = name == "error" ? std::string("500") : name.substr(7);
    wire->send("HTTP/1.1 " + status + " Bad\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    wire->shutdown_write();
  } else if (name == "close") {
    wire->shutdown_write();
  } else if (name == "reset") {
    then(milliseconds(0), [](Wire& open) { open.reset(); });
  } else {
    const auto found =
        std::find_if(cases_.begin(), cases_.end(), [&](const Case& one) { return one.id == name; });
    if (found == cases_.end()) return false;
    return play(loop, wire, *found);
  }
  return true;
}

}  // namespace steelyard::rigs
