// SPDX-License-Identifier: Apache-2.0
// octet exec: a program that calls TensorRT, with Octet's libraries under TensorRT's names.
#pragma once

#include <optional>
#include <span>

#include "cli/command.h"

namespace octet::cli {

// The command where the words are one, in which everything behind the program is the program's: it comes back only where the program cannot
// be started.
std::optional<int> as_exec(std::span<char* const> words);
// What --help tells of it.
Command add_exec(CLI::App& parent);

}  // namespace octet::cli
