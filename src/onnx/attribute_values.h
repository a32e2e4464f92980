// SPDX-License-Identifier: Apache-2.0
// The values that ONNX enumerates for attributes.
#pragma once

#include "graph/attrs.h"

namespace octet {

// Throws Error(invalid_model) for a value that no operator of ONNX's own domain gives a meaning. An attribute of one name means
// the same to all of them, save a few (`mode`): their values are read where the operator is.
void check_attribute_values(const Attrs& attrs);

}  // namespace octet
