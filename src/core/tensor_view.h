// SPDX-License-Identifier: Apache-2.0
// What runs check of a view before they compute.
#pragma once

#include "octet/tensor_view.h"

namespace octet {

// Throws Error(invalid_argument) when two elements may share memory: such a view can be read but not written.
void check_apart(const TensorView& view);

}  // namespace octet
