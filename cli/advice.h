// SPDX-License-Identifier: Apache-2.0
// What a user of the command line can do about an error: the library names the option or limit of its API that stands in the
// way (Error::field), this names the flag.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

namespace octet::cli {

// One line, or nothing where there is no advice that `command` has a flag for.
std::string_view advice_for(std::string_view field, const CLI::App& command);

}  // namespace octet::cli
