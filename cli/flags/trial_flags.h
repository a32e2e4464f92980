// SPDX-License-Identifier: Apache-2.0
// The flags of octet build that make what a search found.
#pragma once

#include <string>

#include "octet/search.h"

namespace octet::cli {

// As a shell takes them: names of layers may hold anything.
std::string flags_of(const SearchTrial& trial, const PrecisionPlan& plan);

}  // namespace octet::cli
