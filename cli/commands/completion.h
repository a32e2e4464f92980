// SPDX-License-Identifier: Apache-2.0
// octet completion: what bash and zsh need to complete the command line. octet manual: its pages for man(1).
#pragma once

#include "cli/command.h"

namespace octet::cli {

Command add_completion(CLI::App& parent);
Command add_manual(CLI::App& parent);

}  // namespace octet::cli
