// SPDX-License-Identifier: Apache-2.0
// Arrays of Python that say where they lie on a GPU by __cuda_array_interface__ and know no DLPack (Numba).
#pragma once

#include <nanobind/ndarray.h>

#include <string_view>

#include "module.h"

namespace octet::python {

bool is_cuda_array(nb::handle object);
// Over its memory, which it keeps alive. Throws Error(invalid_argument) for a type that no tensor has, and for an array that must not be
// written. Its own stream is the caller's to order: RunOptions::stream.
nb::ndarray<> cuda_array(nb::handle object, std::string_view what, bool writes, int device);

}  // namespace octet::python
