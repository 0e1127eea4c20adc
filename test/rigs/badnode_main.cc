// A back end that misbehaves as asked: by the path `/bad/NAME`, by the header `X-Bad: NAME`, or for
// every request with --all NAME. The names stand in lib/bad_script.h. Everything else is answered
// as by `ledger node`, control requests included.
//
//   badnode [--listen HOST:PORT] [--name N] [--log FILE] [--all NAME] [--cases FILE]
#include <cstdio>

#include "test/rigs/lib/args.h"
#include "test/rigs/lib/ledger_node.h"

int main(int argc, char** argv) {
  using namespace steelyard::rigs;
  Args args(argc, argv);
  LedgerNodeOptions options{.name = args.text("name", "bad"),
                            .at = endpoint_of(args.text("listen", "127.0.0.1:0")),
                            .log = args.text("log"),
                            .cases = args.text("cases", "test/http/http_cases.jsonl"),
                            .misbehave = args.text("all")};
  if (!args.all_known()) return 2;
  Loop loop;
  const LedgerNode node(loop, options);
  if (!node.up()) {
    std::perror("badnode: listen");
    return 1;
  }
  std::printf("%d\n", node.port());
  (void)std::fflush(stdout);
  loop.run();
  return 0;
}
