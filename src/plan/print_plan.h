// SPDX-License-Identifier: Apache-2.0
// A plan as text: kernels, layouts, groups, borders, costs and memory, for people and for golden tests.
#pragma once

#include <string>

#include "plan/plan.h"

namespace octet {

// The same text wherever the same plan is made: nothing in it is an address or a time.
std::string print_plan(const Plan& plan);

}  // namespace octet
