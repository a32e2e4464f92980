// SPDX-License-Identifier: Apache-2.0
// Weights as Python holds them.
#pragma once

#include "module.h"

namespace octet_trt_python {

// Views memory of an object, which lives as long as this does.
struct PyWeights {
  Weights weights{DataType::kFLOAT, nullptr, 0};
  nb::object owner;
};

// Of Weights or of an array; None is empty. Arrays that are not dense are copied. Raises TypeError for elements that no weights have.
PyWeights weights_of(nb::handle object);
// The same where the network, or whoever is `reader`, reads them later.
Weights kept_weights(nb::handle object, nb::handle reader);
// An array of NumPy over the weights' memory, which `owner` keeps alive.
nb::object array_of(const Weights& weights, nb::handle owner);

// Tuples and lists of numbers, or Dims.
Dims dims_of(nb::handle sizes);

}  // namespace octet_trt_python
