// SPDX-License-Identifier: Apache-2.0
// octet trtexec: the command line, the output and the files of TensorRT's trtexec.
#pragma once

#include <span>
#include <string>

#include "cli/command.h"

namespace octet::cli {

// `name` is what the user called: "octet trtexec", or "trtexec". Returns 0 for PASSED, 1 for FAILED.
int run_trtexec(const std::string& name, std::span<char* const> arguments);

// For the help, completions and the manual; its own parser reads the flags.
Command add_trtexec(CLI::App& parent);

}  // namespace octet::cli
