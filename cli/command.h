// SPDX-License-Identifier: Apache-2.0
// What main() needs of each subcommand: where its options hang, and the function that runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

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

#define COMMAND(name) Command add_##name(CLI::App& parent);
#include "cli/commands.def"
#undef COMMAND

}  // namespace octet::cli
