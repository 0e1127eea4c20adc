// The command line: sub-commands, their flags and help, and the habits of nginx.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <vector>

#include "steelyard/base/nearest.h"
#include "steelyard/cli/command.h"
#include "steelyard/config/load.h"
#include "steelyard/schema/form.h"
#include "steelyard/schema/scalar.h"

namespace steelyard::cli {
namespace {

constexpr std::string_view kExamples =
    "Examples:\n"
    "  steelyard run --listen :8080 --to 127.0.0.1:8081,127.0.0.1:8082\n"
    "  steelyard check steelyard.yaml && steelyard run steelyard.yaml\n"
    "  steelyard demo --seconds 90\n";

// An option that takes one of an enum's words, in either case. CLI11 has a check of its own, whose
// message shows its inside.
template <typename Enum>
CLI::Option* add_word(CLI::App& app, const std::string& flag, std::optional<Enum>& into,
                      const std::string& what) {
  const auto take = [&into, flag](const std::string& text) {
    std::vector<std::string_view> known;
    for (const auto& name : schema_names(Enum{})) {
      if (schema::same_word(name.text, text)) return void(into = name.value);
      known.push_back(name.text);
    }
    const auto near = base::nearest(text, known);
    throw CLI::ValidationError(
        flag, fmt::format("must be one of {}, not \"{}\"{}", fmt::join(known, ", "), text,
                          near.empty() ? "" : fmt::format(", did you mean \"{}\"", near)));
  };
  return app.add_option_function<std::string>(flag, take, what);
}

// At each comma; empty entries too, for whoever reads them to complain of.
void split(std::string_view list, std::vector<std::string>& into) {
  for (;;) {
    const auto comma = list.find(',');
    into.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

void add_config(CLI::App& app, ConfigFlags& flags) {
  app.add_option("file,-c,--config", flags.file,
                 "configuration file (default: $STEELYARD_CONFIG, then "
                 "/etc/steelyard/steelyard.yaml)")
      ->option_text("FILE");
}

CLI::App* add_run_options(CLI::App& app, RunFlags& flags, const std::string& name,
                          const std::string& what) {
  auto* sub = app.add_subcommand(name, what);
  add_config(*sub, flags.config);
  auto* to = sub->add_option_function<std::vector<std::string>>(
                    "--to",
                    [&flags](const std::vector<std::string>& lists) {
                      for (const auto& list : lists) split(list, flags.config.to);
                      if (lists.empty()) flags.config.to.emplace_back();  // `--to ""`
                    },
                    "nodes to balance over, without a file")
                 ->allow_extra_args(false)  // a word behind it is a file, not a node
                 ->option_text("HOST:PORT,...");
  sub->add_option(
         "--listen", flags.config.listen,
         "with --to: where clients connect (default " + std::string(config::kDefaultListener) + ")")
      ->needs(to)
      ->option_text("ADDRESS");
  sub->add_option("--workers", flags.workers, "worker threads, 1 to 1024 (default: as configured)")
      ->check(CLI::Range(1, 1024))
      ->option_text("NUMBER");
  add_word(*sub, "--io", flags.io, "how workers talk to the kernel (default: as configured)")
      ->option_text("auto|uring|epoll");
  sub->add_option("--admin", flags.admin,
                  "address of the admin API, on loopback (default: as configured)")
      ->option_text("ADDRESS");
  return sub;
}

void add_run(CLI::App& app, RunFlags& flags) {
  auto* sub = add_run_options(app, flags, "run", "Run the balancer in the foreground.");
  sub->add_flag("--single", flags.single,
                "one process: no supervisor, so no restart after a crash and no upgrade");
  sub->add_option("--resume", flags.resume)->group("");  // hidden: of an upgrade
  sub->footer(
      "Signals: HUP   reloads the configuration; a bad one changes nothing\n"
      "         TERM  drains and stops (INT too; again after a second: at once)\n"
      "         QUIT  drains without limit, and stops\n"
      "         USR1  reopens log files\n"
      "         USR2  upgrades to the program at the same path, without losing a connection\n"
      "Two processes: the one that you start keeps the listening sockets and what was learned;\n"
      "the engine that it starts does the work, and is started again when it crashes, with the\n"
      "configuration that ran. GET /api/v1/process on the admin API tells what is going on.\n"
      "A `run` after a kill -9 takes over the engine that serves on.\n"
      "Example: steelyard run --listen :8080 --to 127.0.0.1:8081,127.0.0.1:8082");
}

// Started by `run`; not for people, so not in the help.
void add_engine(CLI::App& app, EngineFlags& flags) {
  auto* sub = add_run_options(app, flags.run, "engine", "");
  sub->add_option("--channel", flags.channel);
  sub->add_flag("--protocol", flags.protocol);
  sub->group("");
}

void add_check(CLI::App& app, CheckFlags& flags) {
  auto* sub = app.add_subcommand("check", "Check a configuration and say what it will do.");
  add_config(*sub, flags.config);
  sub->add_flag("--strict", flags.strict, "warnings are failures (exit 3)");
  sub->add_flag("--json", flags.json, "problems as JSON, for editors");
  sub->add_flag("-q,--quiet", flags.quiet, "only problems");
  sub->add_flag("--schema", flags.schema, "print the JSON schema of the configuration");
  sub->add_flag("--manual", flags.manual, "print the manual of all keys");
  sub->footer("Example: steelyard check --strict steelyard.yaml");
}

void add_demo(CLI::App& app, DemoFlags& flags) {
  auto* sub = app.add_subcommand(
      "demo", "A balancer, five nodes and a load, all in this process; one node falls ill.");
  sub->add_option("--seconds", flags.seconds, "how long it runs, 10 to 3600 (default 90)")
      ->check(CLI::Range(10, 3600))
      ->option_text("NUMBER");
  sub->add_flag("--plain", flags.plain, "lines instead of a live table");
  sub->add_option("--seed", flags.seed, "seed of load and nodes (default 1)")
      ->option_text("NUMBER");
  sub->add_option("--admin", flags.admin,
                  "address of the API (default 127.0.0.1:9180, or a free port)")
      ->option_text("ADDRESS");
  sub->footer("Example: steelyard demo --seconds 90 --plain");
}

void add_node(CLI::App& app, NodeFlags& flags) {
  auto* sub = app.add_subcommand("node", "Run a demo server that can fall ill on demand.");
  sub->add_option("--listen", flags.listen, "where to serve (default 127.0.0.1, a free port)")
      ->option_text("ADDRESS");
  sub->add_option("--name", flags.name, "name it answers with (default: its address)")
      ->option_text("NAME");
  sub->add_option("--service", flags.service, "mean service time (default 10ms)")
      ->option_text("DURATION");
  sub->add_option("--cores", flags.cores, "requests served at once, 1 to 10000 (default 4)")
      ->check(CLI::Range(1, 10000))
      ->option_text("NUMBER");
  sub->add_option("--seed", flags.seed, "seed of the service times (default 1)")
      ->option_text("NUMBER");
  sub->footer(
      "Example: steelyard node --listen 127.0.0.1:8081 --service 20ms &\n"
      "         curl -d '{\"pause\": \"1.8s\", \"pause_every\": \"2.5s\"}' "
      "http://127.0.0.1:8081/control");
}

void add_key(CLI::App& app, KeyFlags& flags) {
  auto* sub = app.add_subcommand("key", "API keys.");
  sub->require_subcommand(1);
  sub->footer("Example: steelyard key new --name alice");
  auto* made = sub->add_subcommand("new", "Make a key; the configuration keeps only its hash.");
  made->add_option("--name", flags.name, "whose key it is (default ops)")
      ->option_text("NAME")
      ->check([](const std::string& name) {
        return schema::is_identifier(name)
                   ? std::string()
                   : "\"" + name + "\" is no name: letters, digits, '.', '_' and '-', at most 63";
      });
}

std::string or_near(std::string_view near) {
  return near.empty() ? std::string() : fmt::format(", did you mean \"{}\"", near);
}

// Of the first argument that looks like an option and is none of the command's; else empty.
std::string unknown_option(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::vector<std::string_view> known;
  for (const auto* option : command->get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    known.insert(known.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  for (const auto& argument : app.remaining(true)) {
    if (!argument.starts_with("--") || argument.size() == 2) continue;
    const auto written = argument.substr(0, argument.find('='));
    const auto near = base::nearest(std::string_view(written).substr(2), known);
    return fmt::format("there is no option \"{}\"{}", written,
                       or_near(near.empty() ? std::string() : fmt::format("--{}", near)));
  }
  return {};
}

int fail_usage(CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help
  static constexpr std::array<std::string_view, 5> kCommands{"run", "check", "demo", "node", "key"};
  if (argc > 1 && argv[1][0] != '-' && std::ranges::find(kCommands, argv[1]) == kCommands.end()) {
    const auto near = base::nearest(argv[1], kCommands);
    fmt::print(stderr, "steelyard: there is no command \"{}\"{}; see steelyard --help\n", argv[1],
               or_near(near));
    return kUsage;
  }
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const auto unknown = extras ? unknown_option(app) : std::string();
  fmt::print(stderr, "steelyard: {}; see steelyard {}--help\n",
             unknown.empty() ? std::string(error.what()) : unknown,
             argc > 1 && argv[1][0] != '-' ? fmt::format("{} ", argv[1]) : std::string());
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Steelyard: a load balancer that moves its own weights, and says why.", "steelyard");
  app.footer(std::string(kExamples));
  RunFlags run_flags;
  EngineFlags engine_flags;
  CheckFlags check_flags;
  DemoFlags demo_flags;
  NodeFlags node_flags;
  KeyFlags key_flags;
  SignalFlags signal_flags;
  VersionFlags version_flags;
  bool test = false;
  bool show_version = false;
  ConfigFlags global;
  app.add_flag("-v,-V,--version", show_version, "print the version");
  app.add_flag("--verbose", version_flags.verbose, "with --version: build and libraries");
  app.add_flag("-t", test, "check the configuration, as nginx does");
  app.add_flag("-q", check_flags.quiet, "with -t: only problems");
  app.add_option("-s", signal_flags.verb,
                 "send reload, stop, quit, reopen or upgrade to the process in pid_file")
      ->option_text("VERB");
  app.add_option("-c,--config", global.file, "configuration file, for -t and -s")
      ->option_text("FILE");
  add_run(app, run_flags);
  add_engine(app, engine_flags);
  add_check(app, check_flags);
  add_demo(app, demo_flags);
  add_node(app, node_flags);
  add_key(app, key_flags);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return fail_usage(app, error, argc, argv);
  }
  if (show_version) return version(version_flags);
  if (test) {
    check_flags.config = global;
    check_flags.nginx_words = true;
    return check(check_flags);
  }
  if (!signal_flags.verb.empty()) {
    signal_flags.config = global;
    return send_signal(signal_flags);
  }
  const auto apply_global = [&](ConfigFlags& flags) {
    if (flags.file.empty() && flags.to.empty()) flags.file = global.file;
  };
  if (app.got_subcommand("run")) {
    if (!run_flags.config.to.empty() && !run_flags.config.file.empty()) {
      fmt::print(stderr,
                 "steelyard: there are nodes in --to and the file \"{}\": which one? Nodes are "
                 "parted by commas; see steelyard run --help\n",
                 run_flags.config.file);
      return kUsage;
    }
    apply_global(run_flags.config);
    run_flags.program = argv[0];
    return run(run_flags);
  }
  if (app.got_subcommand("engine")) return engine(engine_flags);
  if (app.got_subcommand("check")) {
    apply_global(check_flags.config);
    return check(check_flags);
  }
  if (app.got_subcommand("demo")) return demo(demo_flags);
  if (app.got_subcommand("node")) return node(node_flags);
  if (app.got_subcommand("key")) return key_new(key_flags);
  fmt::print("{}", app.help());
  return kUsage;
}

}  // namespace steelyard::cli
