// SPDX-License-Identifier: Apache-2.0
// For messages about a name that does not exist: the one that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet {

// The known name nearest to `given` by case, edits (a swap of neighbours is one) or as the only one that holds it; empty where none is near.
std::string closest(std::string_view given, std::span<const std::string> known);
// "; did you mean 'NAME'?", or nothing.
std::string did_you_mean(std::string_view given, std::span<const std::string> known);

}  // namespace octet
