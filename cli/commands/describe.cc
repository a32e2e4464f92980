// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/describe.h"

#include <algorithm>
#include <string_view>

namespace octet::cli {
namespace {

// "entropy|minmax", all in small letters, are words to choose from; "DIR|FILE" are kinds of names.
std::vector<std::string> choices_of(const std::string& value) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || c == '|' || c == '_'; };
  if (value.find('|') == std::string::npos || !std::ranges::all_of(value, is_word)) return {};
  return CLI::detail::split(value, '|');
}

bool names_file(std::string_view value) {
  constexpr std::string_view kFiles[] = {"FILE", "DIR", "ENGINE", "MODEL"};
  return std::ranges::any_of(kFiles,
                             [&](std::string_view kind) { return value.find(kind) != value.npos; });
}

FlagInfo flag_info(const CLI::Option& option) {
  FlagInfo info;
  info.positional = option.get_positional();
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  if (info.positional) info.names = {option.get_name(true)};
  if (option.get_items_expected_max() > 0) info.value = option.get_type_name();
  info.choices = choices_of(info.value);
  info.help = option.get_description();
  info.group = option.get_group();
  info.takes_file = names_file(info.value);
  return info;
}

bool any(const CLI::App*) { return true; }

}  // namespace

CommandInfo describe(const CLI::App& app) {
  CommandInfo info{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* option : app.get_options()) info.flags.push_back(flag_info(*option));
  return info;
}

std::vector<CommandInfo> describe_commands(const CLI::App& program) {
  std::vector<CommandInfo> commands;
  for (const CLI::App* command : program.get_subcommands(any))
    commands.push_back(describe(*command));
  return commands;
}

}  // namespace octet::cli
