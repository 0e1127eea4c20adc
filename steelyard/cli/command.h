// What every command shares: exit codes, and the one function each command file exports.
//
// A command gets its parsed flags as a struct and gives the exit code. Machine output goes to
// stdout, chatter and errors to stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "steelyard/io/options.h"

namespace steelyard::cli {

enum Exit : int {
  kOk = 0,
  kFailure = 1,      // bad configuration, run-time error
  kUsage = 2,        // wrong flags or arguments
  kWarnings = 3,     // warnings under --strict
  kUnreachable = 4,  // the server to talk to does not answer
};

// Where the configuration comes from; at most one of file and to.
struct ConfigFlags {
  std::string file;    // empty: $STEELYARD_CONFIG, then /etc/steelyard/steelyard.yaml
  std::string listen;  // with `to`: without a file
  std::vector<std::string> to;
};

struct RunFlags {
  ConfigFlags config;
  unsigned workers = 0;           // 0: as configured
  std::optional<io::Backend> io;  // nothing: as configured
  std::string admin;              // address of the admin API, over the configured one
  bool single = false;            // no supervisor: the engine in this process
  int resume = -1;                // after an upgrade's exec: the descriptor that tells what was
  std::string program;            // as it was called, for upgrades
};
int run(const RunFlags& flags);

struct EngineFlags {
  RunFlags run;
  int channel = -1;       // descriptor of the channel to the supervisor
  bool protocol = false;  // only say which supervisors it understands
};
int engine(const EngineFlags& flags);
[[nodiscard]] std::string engine_protocol();

struct CheckFlags {
  ConfigFlags config;
  bool schema = false;  // print the JSON schema of the configuration
  bool manual = false;  // print the manual of all options
  bool strict = false;  // warnings are failures
  bool quiet = false;
  bool json = false;
  bool nginx_words = false;  // as -t: nginx's closing lines
};
int check(const CheckFlags& flags);

struct NodeFlags {
  std::string listen = "127.0.0.1:0";
  std::string name;
  std::string service = "10ms";  // mean service time
  unsigned cores = 4;            // requests served at once
  std::uint64_t seed = 1;
};
int node(const NodeFlags& flags);

struct DemoFlags {
  unsigned seconds = 90;
  bool plain = false;
  std::uint64_t seed = 1;
  std::string admin;  // empty: 127.0.0.1:9180 if it is free, else a free port
};
int demo(const DemoFlags& flags);

struct KeyFlags {
  std::string name = "ops";
};
int key_new(const KeyFlags& flags);

struct SignalFlags {
  std::string verb;  // reload, stop, quit, reopen
  ConfigFlags config;
};
int send_signal(const SignalFlags& flags);

struct VersionFlags {
  bool verbose = false;
};
int version(const VersionFlags& flags);

// Parses the command line and runs the command.
int main(int argc, char** argv);

}  // namespace steelyard::cli
