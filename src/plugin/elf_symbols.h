// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace octet {

// The strong symbols that a 64-bit ELF library gives to others; empty for a file of another kind. Nothing in the file is believed.
std::vector<std::string> exported_symbols(const std::filesystem::path& library);

}  // namespace octet
