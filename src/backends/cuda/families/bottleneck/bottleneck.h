// SPDX-License-Identifier: Apache-2.0
// A bottleneck as the kernel sees it, and what it reads of constants.
#pragma once

#include <vector>

#include "backends/cuda/families/bottleneck/spec.h"
#include "backends/cuda/lower/conv_request.h"

namespace octet::cuda::bottleneck {

struct Bottleneck {
  ConvRequest reduce, spatial, expand;
  ConvRequest project;  // where that is the shortcut
  Spec spec{};

  bool projects() const { return spec.shortcut == Shortcut::projection; }
};

// Whether the digits of all biases fit a product of 32 bytes of k.
bool biases_have_digits(const Bottleneck& block);
// The tiles; scales and, where they are added, biases of all ends in the kernel's order.
std::vector<BlobRecipe> blobs_of(const Bottleneck& block);

}  // namespace octet::cuda::bottleneck
