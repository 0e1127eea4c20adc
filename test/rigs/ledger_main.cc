// The request ledger: who asked, who answered, and whether the two agree.
//
//   ledger node   --name N [--listen HOST:PORT] [--log FILE] [--cases http_cases.jsonl]
//   ledger client --to HOST:PORT [--rate 500] [--seconds 10] [--post 0.25] [--connections 128]
//                 [--deadline 10] [--seed 1] [--log FILE]
//   ledger check FILE... [--allow 502,503,reset] [--allow-post 502] [--fault FROM,TO]
//                 [--grace S] [--deadline S] [--quiet S] [--targets n1=0.25,n2=0.75]
//
// The client's exit status is 0 when every request was answered 200 and right. `check` takes the
// files of client and nodes together, prints what broke which rule, and exits 0 or 1. FROM and TO
// are seconds after the client's first request.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "test/rigs/lib/args.h"
#include "test/rigs/lib/judge.h"
#include "test/rigs/lib/ledger_client.h"
#include "test/rigs/lib/ledger_node.h"

namespace steelyard::rigs {
namespace {

Span seconds(double value) {
  return std::chrono::duration_cast<Span>(std::chrono::duration<double>(value));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) out.push_back(part);
  return out;
}

int usage() {
  std::fprintf(stderr, "usage: ledger node|client|check [--flag value ...]; see the file's head\n");
  return 2;
}

int run_node(Args& args) {
  LedgerNodeOptions options{.name = args.text("name", "node"),
                            .at = endpoint_of(args.text("listen", "127.0.0.1:0")),
                            .log = args.text("log"),
                            .cases = args.text("cases")};
  if (!args.all_known()) return usage();
  Loop loop;
  const LedgerNode node(loop, options);
  if (!node.up()) {
    std::perror("ledger: listen");
    return 1;
  }
  std::printf("%d\n", node.port());
  (void)std::fflush(stdout);
  loop.run();
  return 0;
}

int run_client(Args& args) {
  LedgerClientOptions options{
      .to = endpoint_of(args.text("to")),
      .rate = args.number("rate", 500),
      .post = args.number("post", 0.25),
      .connections = static_cast<std::size_t>(args.whole("connections", 128)),
      .deadline = seconds(args.number("deadline", 10)),
      .seed = static_cast<std::uint64_t>(args.whole("seed", 1))};
  const double length = args.number("seconds", 10);
  const auto file = args.text("log");
  if (!args.all_known() || options.to.port == 0) return usage();
  Loop loop;
  LedgerClient client(loop, options);
  client.start();
  loop.run_until(Clock::now() + seconds(length));
  client.finish([&] { loop.stop(); });
  loop.run_until(Clock::now() + options.deadline + seconds(1));
  const auto& totals = client.totals();
  std::printf(
      "seed %llu: %llu sent, %llu good, %llu bad\n", static_cast<unsigned long long>(options.seed),
      static_cast<unsigned long long>(totals.sent), static_cast<unsigned long long>(totals.good),
      static_cast<unsigned long long>(totals.bad));
  if (!file.empty() && !write_history(file, {client.asked(), {}, {}})) {
    std::fprintf(stderr, "ledger: cannot write %s\n", file.c_str());
    return 1;
  }
  return totals.bad == 0 && totals.good > 0 ? 0 : 1;
}

Rules rules_of(Args& args, const History& history) {
  Rules rules;
  for (const auto& one : split(args.text("allow"))) rules.any.insert(one);
  for (const auto& one : split(args.text("allow-post"))) rules.post.insert(one);
  Micros first = 0;
  for (const auto& one : history.asked) first = first == 0 ? one.start : std::min(first, one.start);
  if (const auto fault = split(args.text("fault")); fault.size() == 2) {
    rules.fault_from = first + static_cast<Micros>(std::strtod(fault[0].c_str(), nullptr) * 1e6);
    rules.fault_to = first + static_cast<Micros>(std::strtod(fault[1].c_str(), nullptr) * 1e6);
  }
  rules.grace = static_cast<Micros>(args.number("grace", 0) * 1e6);
  rules.deadline = static_cast<Micros>(args.number("deadline", 0) * 1e6);
  rules.quiet = static_cast<Micros>(args.number("quiet", 10) * 1e6);
  for (const auto& one : split(args.text("targets"))) {
    const auto equal = one.find('=');
    if (equal != std::string::npos) {
      rules.targets[one.substr(0, equal)] = std::strtod(one.c_str() + equal + 1, nullptr);
    }
  }
  return rules;
}

int run_check(Args& args) {
  History history;
  for (std::size_t i = 1; i < args.words().size(); ++i) {
    if (read_history(args.words()[i], history)) continue;
    std::fprintf(stderr, "ledger: cannot read %s\n", args.words()[i].c_str());
    return 2;
  }
  const auto rules = rules_of(args, history);
  if (!args.all_known() || history.asked.empty()) return usage();
  const auto verdict = judge(history, rules);
  for (const auto& [name, count] : verdict.outcomes) std::printf("%s: %zu\n", name.c_str(), count);
  for (const auto& text : verdict.violations) std::printf("%s\n", text.c_str());
  if (rules.fault_to > 0) {
    if (verdict.recovery_s) std::printf("recovered after %.1f s\n", *verdict.recovery_s);
    if (!verdict.recovery_s) std::printf("not seen to recover\n");
  }
  std::printf("%zu violations in %zu requests\n", verdict.count, history.asked.size());
  return verdict.good() && (rules.fault_to == 0 || verdict.recovery_s) ? 0 : 1;
}

}  // namespace
}  // namespace steelyard::rigs

int main(int argc, char** argv) {
  using namespace steelyard::rigs;
  Args args(argc, argv);
  const auto verb = args.words().empty() ? std::string() : args.words()[0];
  if (verb == "node") return run_node(args);
  if (verb == "client") return run_client(args);
  if (verb == "check") return run_check(args);
  return usage();
}
