// SPDX-License-Identifier: Apache-2.0
// --plugin FILE: libraries whose operators this process gets. Only this flag loads one.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

namespace octet::cli {

void add_plugin_flag(CLI::App& app, std::vector<std::filesystem::path>& plugins);
void load_plugins(const std::vector<std::filesystem::path>& plugins);

}  // namespace octet::cli
