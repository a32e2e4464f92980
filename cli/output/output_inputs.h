// SPDX-License-Identifier: Apache-2.0
// Whether a file is among what a command line names, by identity: symbolic and hard links count as the file.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace octet::cli {

// "--calib 'photos'" where `file`, which exists, is that, lies in it, or is weights of it; `not_inputs` are left out.
std::optional<std::string> input_that_is(const std::filesystem::path& file, const CLI::App& app,
                                         const std::set<const CLI::Option*>& not_inputs);

// How a user writes an option: "-o", "--calib", "model".
std::string flag_name(const CLI::Option& option);

}  // namespace octet::cli
