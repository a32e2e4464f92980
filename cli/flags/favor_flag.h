// SPDX-License-Identifier: Apache-2.0
// --favor: what accuracy may cost in time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "octet/compile.h"

namespace octet::cli {

struct FavorFlag {
  std::string word;  // empty: layers are estimated
};

void add_favor_flag(CLI::App& app, FavorFlag& flag);
// Throws Error(invalid_argument) where it would change nothing.
void apply(const FavorFlag& flag, CompileOptions& options);

}  // namespace octet::cli
