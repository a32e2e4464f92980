// SPDX-License-Identifier: Apache-2.0
// f32 kernels of GridSample. Every sum begins at zero and adds its taps in order, unfused, the last axis innermost, so the result is
// exact on every instruction set: a tap outside of the input counts as zero, which leaves a sum as it is. Plain data only, since
// instruction-set files include it.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/float/level_functions.h"

namespace octet {

constexpr long kGridBlock = 64;  // positions at a time

// Positions in blocks; axes are depth, rows, columns.
struct GridSampleArgs {
  const float* x;  // of one image
  float* y;        // of its first position
  long channels;
  long pixels;  // of the input
  long points;  // of the output
  long count;   // positions, at most kGridBlock
  long taps[3];
  const int*
      index;  // [taps[0]][taps[1]][taps[2]][kGridBlock], pixels; -1: outside, and behind the last position
  const float* weights;  // [taps[0] + taps[1] + taps[2]][kGridBlock]
};

// Channels are planes: of x `pixels` elements apart, of y `points`.
OCTET_X86_64(void, grid_sample_planes_avx2, const GridSampleArgs* args);
OCTET_X86_64(void, grid_sample_planes_vnni, const GridSampleArgs* args);
OCTET_AARCH64(void, grid_sample_planes_neon, const GridSampleArgs* args);
// The channels of a pixel are adjacent.
OCTET_X86_64(void, grid_sample_pixels_avx2, const GridSampleArgs* args);
OCTET_X86_64(void, grid_sample_pixels_vnni, const GridSampleArgs* args);
OCTET_AARCH64(void, grid_sample_pixels_neon, const GridSampleArgs* args);

constexpr LevelFunctions<GridSampleArgs> kGridSamplePlanes = {
    grid_sample_planes_avx2, grid_sample_planes_vnni, grid_sample_planes_neon};
constexpr LevelFunctions<GridSampleArgs> kGridSamplePixels = {
    grid_sample_pixels_avx2, grid_sample_pixels_vnni, grid_sample_pixels_neon};

}  // namespace octet
