// SPDX-License-Identifier: Apache-2.0
// What main() needs of each subcommand: where its options hang, and the function that runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace octet::cli {

class Outputs;  // cli/outputs.h

// Exit codes of the program.
inline constexpr int kDone = 0;
inline constexpr int kThresholdFailed = 1;
inline constexpr int kBadInput = 2;

struct Command {
  CLI::App* app;
  std::function<int()> run;
  Outputs* outputs = nullptr;  // what it writes: checked before it runs; null: it writes no file
};

Command add_build(CLI::App& parent);
Command add_check(CLI::App& parent);
Command add_inspect(CLI::App& parent);
Command add_run(CLI::App& parent);
Command add_eval(CLI::App& parent);
Command add_compare(CLI::App& parent);
Command add_bench(CLI::App& parent);
Command add_report(CLI::App& parent);
Command add_plugin(CLI::App& parent);
Command add_export(CLI::App& parent);
Command add_extract(CLI::App& parent);
Command add_simulate(CLI::App& parent);
Command add_devices(CLI::App& parent);
Command add_bundle(CLI::App& parent);
Command add_reproduce(CLI::App& parent);
Command add_sensitivity(CLI::App& parent);
Command add_warm(CLI::App& parent);

}  // namespace octet::cli
