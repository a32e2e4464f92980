// SPDX-License-Identifier: Apache-2.0
// More threads than there is room for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace octet::cli {

// What is wrong with so many threads for each of so many callers: more than this process may use at once. Empty: nothing.
std::string doubt_of_threads(int threads, int streams);
// The same of a command's --threads and --streams.
std::string doubt_of_threads(const CLI::App& app);

}  // namespace octet::cli
