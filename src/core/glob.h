// SPDX-License-Identifier: Apache-2.0
// Patterns over the names of nodes and tensors.
#pragma once

#include <string_view>

namespace octet {

// '*' stands for any number of characters, '?' for one; every other character, '/' and brackets too, for itself. Takes at most
// pattern x name steps.
bool glob_matches(std::string_view pattern, std::string_view name);

}  // namespace octet
