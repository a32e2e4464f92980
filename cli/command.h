// SPDX-License-Identifier: Apache-2.0
// What main() needs of each subcommand: where its options hang, and the function that runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <type_traits>

namespace octet::cli {

class Outputs;  // cli/output/outputs.h

// Exit codes of the program.
inline constexpr int kDone = 0;
inline constexpr int kThresholdFailed = 1;
inline constexpr int kBadInput = 2;

struct Command {
  CLI::App* app;
  std::function<int()> run;
  Outputs* outputs = nullptr;  // what it writes: checked before it runs; null: it writes no file
};

// What `octet NAME --help` says around the options.
struct CommandHelp {
  const char* name;
  const char* summary;
  const char* examples;
};

// A subcommand with options of its own: `add_flags` hangs them into the app, `run` gets what was read, and before it the app if it asks
// for that. Those named `outputs` are what it writes.
template <class Options, class Run>
Command make_command(CLI::App& parent, const CommandHelp& help,
                     void (*add_flags)(CLI::App&, Options&), Run run) {
  CLI::App* app = parent.add_subcommand(help.name, help.summary);
  app->footer(help.examples);
  const auto options = std::make_shared<Options>();
  add_flags(*app, *options);
  Outputs* outputs = nullptr;
  if constexpr (requires { options->outputs; }) outputs = &options->outputs;
  const auto call = [app, options, run] {
    if constexpr (std::is_invocable_v<Run, const CLI::App&, Options&>) {
      return run(*app, *options);
    } else {
      return run(*options);
    }
  };
  return {app, call, outputs};
}

#define COMMAND(name)              \
  namespace name##_cli {           \
    Command add(CLI::App& parent); \
  }
#include "cli/commands.def"
#undef COMMAND

}  // namespace octet::cli
