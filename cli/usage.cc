// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "cli/fail.h"
#include "octet/closest.h"

namespace octet::cli {
namespace {

bool all_commands(const CLI::App*) { return true; }

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(all_commands))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Other commands that have the flag: "; octet build has it".
std::string owners_of(const std::string& flag, const CLI::App& app) {
  std::string owners;
  for (const CLI::App* command : app.get_subcommands(all_commands)) {
    // Its flags are TensorRT's, and mean other things.
    if (command->get_name() == "trtexec") continue;
    if (flag.starts_with("--") && command->get_option_no_throw(flag) != nullptr)
      owners += (owners.empty() ? "octet " : ", octet ") + command->get_name();
  }
  return owners.empty()
             ? ""
             : fmt::format("; {} {} it", owners, owners.find(',') == owners.npos ? "has" : "have");
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  const auto names = command_names(app);
  return fmt::format("no command '{}'{}", word, did_you_mean(word, names));
}

std::string unknown_flag(const CLI::App& app, const CLI::App& command,
                         const std::string& argument) {
  const std::string flag = argument.substr(0, argument.find('='));
  if (std::error_code none; std::filesystem::exists(argument, none))
    return fmt::format("octet {} has no flag {}; the file of that name is ./{}", command.get_name(),
                       argument, argument);
  const std::string meant = did_you_mean(flag, flag_names(command));
  return fmt::format("octet {} has no flag {}{}", command.get_name(), flag,
                     meant.empty() ? owners_of(flag, app) : meant);
}

int print_help(const CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    // The program's own text, not that of the command `help`.
    fmt::print("{}",
               app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal));
    return kDone;
  }
  for (const CLI::App* command : app.get_subcommands(all_commands)) {
    if (command->get_name() != topic) continue;
    fmt::print("{}", command->help(app.get_name()));
    return kDone;
  }
  fail(Error::Code::invalid_argument, "{}", unknown_command(app, topic));
}

}  // namespace

void add_message_flags(CLI::App& app, MessageOptions& options) {
  const char* group = "Messages";
  app.add_flag("--quiet", options.quiet, "no progress")->group(group);
  app.add_flag("--verbose", options.verbose, "say more: limits, passes, times")->group(group);
  app.add_option("--log-file", options.log_file, "add every message to this file, with its time")
      ->type_name("FILE")
      ->group(group);
}

Command add_help(CLI::App& parent) {
  auto topic = std::make_shared<std::string>();
  CLI::App* app = parent.add_subcommand("help", "Explain a command, as octet COMMAND --help does");
  app->add_option("command", *topic, "name of a command")->type_name("COMMAND");
  return {app, [topic, &parent] { return print_help(parent, *topic); }};
}

Command add_version(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("version", "Print the version, as octet --version does");
  return {app, [] {
            fmt::print("octet {}\n", OCTET_VERSION);
            return kDone;
          }};
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto words = app.remaining();
    if (words.empty()) return error.what();
    if (!words.front().starts_with('-')) return unknown_command(app, words.front());
    return fmt::format("no flag {}{}", words.front(), did_you_mean(words.front(), flag_names(app)));
  }
  const CLI::App& command = *chosen.front();
  // Of "--thread 2" the flag is what went wrong, and of "--dat photos/" it, and not that --data is missing.
  const auto extra = command.remaining();
  const auto flag =
      std::ranges::find_if(extra, [](const auto& word) { return word.starts_with('-'); });
  if (flag != extra.end()) return unknown_flag(app, command, *flag);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  if (!extra.empty())
    return fmt::format("octet {} takes no further argument '{}'", command.get_name(),
                       extra.front());
  return error.what();
}

}  // namespace octet::cli
