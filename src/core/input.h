// SPDX-License-Identifier: Apache-2.0
// Files of the system, which have no size: /proc, /sys.
#pragma once

#include <filesystem>
#include <string>

#include "octet/input.h"

namespace octet {

// At most 64 KiB of it; empty where it cannot be read.
std::string read_system_text(const std::filesystem::path& path);

}  // namespace octet
