// SPDX-License-Identifier: Apache-2.0
// Which values the float attributes of operators may have. What is not said here or beside the operator (OpTraits::floats)
// is finite, so that no NaN and no infinity comes into a model by an attribute that nobody thought of.
#pragma once

#include <string_view>

#include "core/types.h"

namespace octet {

struct Node;

enum class FloatDomain : u8 {
  finite,
  non_negative,  // finite
  positive,      // finite
  nonzero,       // finite: something is divided by it
  fraction,      // from 0 to 1
  number,        // infinities too: a bound that bounds nothing
  any,           // NaN too: a value that is only put somewhere, or another's business
};

struct FloatAttribute {
  std::string_view name;
  FloatDomain domain;
};

// Throws Error(invalid_model) naming the attribute, what it may be and what it is. Lists are held element by element.
void check_float_attributes(const Node& node);

}  // namespace octet
