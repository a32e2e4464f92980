// SPDX-License-Identifier: Apache-2.0
// Operators whose output dimensions are the value of an input. While compiling that value may be unknown, and the rank is
// not: a model's outputs then have types, and what follows can be chosen for INT8.
#pragma once

#include "graph/op_def.h"

namespace octet {

// The value of input i is not known, and only samples of sizes are being inferred.
inline bool dims_are_open(const Inference& inference, size_t i) {
  return inference.sample > 0 && inference.has_input(i) && inference.value(i) == nullptr;
}

inline Shape open_shape(s64 rank) {
  Shape shape;
  for (s64 d = 0; d < rank; ++d) shape.push_back(Shape::kDynamic);
  return shape;
}

// Elements of an input that is a list.
inline s64 length_of(const Inference& inference, size_t i) {
  return inference.inputs[i].shape.elements();
}

}  // namespace octet
