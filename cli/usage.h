// SPDX-License-Identifier: Apache-2.0
// What is common to all commands: the flags of messages, help and version as commands, and what is said of a command line that
// does not parse.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"
#include "cli/output/messages.h"

namespace octet::cli {

// --quiet, --verbose and --log-file.
void add_message_flags(CLI::App& app, MessageOptions& options);

Command add_help(CLI::App& parent);
Command add_version(CLI::App& parent);

// One sentence, with the command or flag that was probably meant.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace octet::cli
