// SPDX-License-Identifier: Apache-2.0
// Two cases side by side, what could explain the rest first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "octet/reproduce.h"

namespace octet {

// Program, machine.
void compare_programs(const Case& recorded, const Case& here, std::vector<Difference>& into);
// What the engines say of their making, decisions, kernels.
void compare_engines(const Case& recorded, const Case& here, std::vector<Difference>& into);

// What a run gave, and what it gives here. Nothing where they are equal to the bit.
std::optional<Difference> compare_output(const std::string& what, const Tensor& recorded,
                                         const Tensor& here);

}  // namespace octet
