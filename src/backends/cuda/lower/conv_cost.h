// SPDX-License-Identifier: Apache-2.0
// How long a convolution takes on a GPU, in cycles of its clock: what chooses between kernels where nothing was measured. Its constants are the chip's
// (arch/costs.def).
#pragma once

#include "backends/cuda/lower/conv_request.h"

namespace octet::cuda {

// One tile of a product, alone on its multiprocessor.
struct TileWork {
  s64 tiles = 0;
  s64 at_once = 1;  // tiles that a multiprocessor works on at the same time
  f64 multiply_cycles = 0;
  f64 load_bytes = 0;   // through the second-level cache
  f64 load_cycles = 0;  // of the threads that ask for them
  f64 finish_cycles = 0;
  bool overlaps = false;  // one tile's end with the next one's products, of two that take turns
};

// Bytes that must pass the device's memory: x, weights, y, and what is added.
f64 conv_bytes(const ConvRequest& conv);
f64 tile_cost(const TileWork& work, f64 bytes, const Chip& chip);
// All that a node reads and writes.
f64 moved_bytes(const LowerRequest& request);
// Of a chain, as a plan reckons of its parts that name no cost.
f64 cost_by_bytes(const LowerRequest& request);
// Of a kernel that only moves so many bytes.
f64 bytes_cost(f64 bytes, const Chip& chip);

}  // namespace octet::cuda
