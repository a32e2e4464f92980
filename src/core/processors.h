// SPDX-License-Identifier: Apache-2.0
// On how many processors this process may run: fewer than the machine has where its affinity or its control group says so.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "core/types.h"

namespace octet {

// What the control groups of version 2 allow, rounded up: the least of `cpu.max` in a group and those around it. `membership` is what
// /proc/self/cgroup holds, `root` where the groups are mounted. Nothing where none limits.
std::optional<s64> processors_of_groups(const std::filesystem::path& root,
                                        std::string_view membership);

}  // namespace octet
