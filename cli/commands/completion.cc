// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "cli/commands/describe.h"
#include "cli/flags/choice.h"

namespace octet::cli {
namespace {

using Commands = std::vector<CommandInfo>;

std::string names_of(const Commands& commands) {
  std::string names;
  for (const CommandInfo& command : commands) names += (names.empty() ? "" : " ") + command.name;
  return names;
}

// What follows a flag that takes a value: words, files, or nothing that a shell could know.
std::string bash_values(const CommandInfo& command) {
  std::string lines;
  for (const FlagInfo& flag : command.flags) {
    if (flag.positional || flag.value.empty()) continue;
    std::string patterns;
    for (const std::string& name : flag.names)
      patterns += fmt::format("{}'{} {}'", patterns.empty() ? "" : "|", command.name, name);
    const std::string reply = !flag.choices.empty()
                                  ? fmt::format("-W '{}'", fmt::join(flag.choices, " "))
                              : flag.takes_file ? "-f"
                                                : "-W ''";
    lines += fmt::format("    {}) mapfile -t COMPREPLY < <(compgen {} -- \"$word\"); return ;;\n",
                         patterns, reply);
  }
  return lines;
}

std::string bash_flags(const CommandInfo& command) {
  std::string names;
  for (const FlagInfo& flag : command.flags) {
    if (!flag.positional) names += fmt::format("{} ", fmt::join(flag.names, " "));
  }
  return fmt::format("    {}) flags='{}' ;;\n", command.name, names);
}

std::string bash_completion(const Commands& commands) {
  std::string values, flags;
  for (const CommandInfo& command : commands) {
    values += bash_values(command);
    flags += bash_flags(command);
  }
  return fmt::format(R"(# bash completion for octet; made by: octet completion bash
_octet() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} flags=
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{0} --help --version' -- "$word")
    return
  fi
  case "$command $before" in
    'help '*) mapfile -t COMPREPLY < <(compgen -W '{0}' -- "$word"); return ;;
{1}  esac
  case "$command" in
{2}  esac
  case "$word" in
    -*) mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}}
complete -o filenames -F _octet octet
)",
                     names_of(commands), values, flags);
}

// Inside single quotes of zsh, where brackets and colons part the fields of a specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out;
}

std::string zsh_action(const FlagInfo& flag) {
  if (!flag.choices.empty()) return fmt::format("({})", fmt::join(flag.choices, " "));
  return flag.takes_file ? "_files" : " ";
}

std::string zsh_flags(const CommandInfo& command) {
  std::string lines;
  for (const FlagInfo& flag : command.flags) {
    if (flag.positional) continue;
    for (const std::string& name : flag.names) {
      lines += fmt::format(" \\\n        '*{}[{}]", name, zsh_text(flag.help));
      if (!flag.value.empty())
        lines += fmt::format(":{}:{}", zsh_text(flag.value), zsh_action(flag));
      lines += "'";
    }
  }
  return fmt::format("      {}) _arguments{} \\\n        '*:file:_files' ;;\n", command.name,
                     lines);
}

std::string zsh_completion(const Commands& commands) {
  std::string listed, flags;
  for (const CommandInfo& command : commands) {
    listed += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.help));
    flags += zsh_flags(command);
  }
  return fmt::format(R"(#compdef octet
# zsh completion for octet; made by: octet completion zsh
_octet() {{
  local -a commands
  commands=(
{0})
  if (( CURRENT == 2 )); then
    _describe command commands
  else
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
      help) _describe command commands ;;
{1}    esac
  fi
}}
_octet "$@"
)",
                     listed, flags);
}

}  // namespace

Command add_completion(CLI::App& parent) {
  auto shell = std::make_shared<std::string>();
  CLI::App* app =
      parent.add_subcommand("completion", "Print the completions of a shell: bash or zsh");
  app->footer(
      "Installed packages bring them along. Else:\n"
      "  source <(octet completion bash)\n"
      "  octet completion zsh >~/.zfunc/_octet     # a folder of $fpath\n");
  app->add_option("shell", *shell, "whose completions")
      ->type_name("bash|zsh")
      ->required()
      ->check(one_of({"bash", "zsh"}));
  return {app, [shell, &parent] {
            const Commands commands = describe_commands(parent);
            fmt::print("{}",
                       *shell == "bash" ? bash_completion(commands) : zsh_completion(commands));
            return kDone;
          }};
}

}  // namespace octet::cli
