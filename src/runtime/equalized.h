// SPDX-License-Identifier: Apache-2.0
// Which values of a model stand for other numbers than those of the network that it was made of (docs/adr/0030), and how much
// larger their channels are.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "octet/tensor.h"

namespace octet {

// By the value's name, of each channel: it is 2^exponent times the network's.
using EqualizedValues = std::map<std::string, std::vector<s8>, std::less<>>;

// The name that the value has in the network.
std::string network_name(const EqualizedValues& equalized, std::string_view name);

// The value as it is in the network. Values that are not listed, or have other channels, are what they are.
Tensor network_value(const EqualizedValues& equalized, std::string_view name, const Tensor& value);

// A line for each value of a file in other formats: its exponents, a blank, its name. Names that break lines are left out.
std::vector<std::string> equalized_lines(const EqualizedValues& equalized);
// Throws Error(invalid_model).
EqualizedValues equalized_from(const std::vector<std::string>& lines);

// Texts of the exponents, a character each: '0' to '9', then letters.
std::string exponents_text(const std::vector<s8>& exponents);
// Throws Error(invalid_model).
std::vector<s8> exponents_from(std::string_view text);

}  // namespace octet
