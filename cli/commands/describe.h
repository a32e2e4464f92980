// SPDX-License-Identifier: Apache-2.0
// The commands and flags as the parser knows them: what completions and manual pages are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace octet::cli {

struct FlagInfo {
  std::vector<std::string> names;  // "-o", "--output"; of a positional its one name, without dashes
  std::string value;               // "FILE"; empty for a flag that takes none
  std::vector<std::string> choices;  // the words of "folder|prefix"
  std::string help;
  std::string group;
  bool takes_file = false;
  bool positional = false;
};

struct CommandInfo {
  std::string name;
  std::string help;
  std::string footer;
  std::vector<FlagInfo> flags;
};

CommandInfo describe(const CLI::App& app);
// All commands of the program, in the order of its help.
std::vector<CommandInfo> describe_commands(const CLI::App& program);

}  // namespace octet::cli
