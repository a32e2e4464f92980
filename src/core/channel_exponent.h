// SPDX-License-Identifier: Apache-2.0
// What equalization of channels (docs/adr/0030) agrees on wherever exponents are chosen, kept and read.
#pragma once

#include <string_view>

namespace octet {

// A channel is at most 2^20 times the network's.
inline constexpr int kMostExponent = 20;
// In the name of a value of an exported model: it stands for other numbers than the network's.
inline constexpr std::string_view kEqualizedMark = ".equalized";

}  // namespace octet
