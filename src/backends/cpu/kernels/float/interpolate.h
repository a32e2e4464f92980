// SPDX-License-Identifier: Apache-2.0
// f32 kernels of linear and cubic interpolation, of reals or codes: one row of output pixels from a few rows of input. Every sum begins
// at zero and adds its taps in order, unfused, so the result is exact on every instruction set. Plain data only, since
// instruction-set files include it.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/float/level_functions.h"

namespace octet {

// The same position of several rows: dst[i] = sum over k of weights[k] * (rows[k][i] - zero).
struct InterpolateRowsArgs {
  const float* const* rows;  // reals; or null:
  const unsigned char* const* code_rows;
  const float* weights;
  long taps;  // 0: the first row as it is
  long count;
  float zero;  // of codes
  float* dst;
};

// Pixels of one row: pixel x is the sum over k of weights[k * out + x] * pixel index[k * out + x] of src.
struct InterpolatePixelsArgs {
  const float* src;
  const int* index;  // in pixels
  const float* weights;
  long taps;  // 0: as they are
  long out;
  long inner;  // elements of a pixel, adjacent
  float* dst;  // reals; or null:
  unsigned char* code_dst;
  float multiplier;  // code = clamp(rne(t * multiplier), lo, hi) + zero
  float zero, lo, hi;
};

OCTET_X86_64(void, interpolate_rows_avx2, const InterpolateRowsArgs* args);
OCTET_X86_64(void, interpolate_rows_vnni, const InterpolateRowsArgs* args);
OCTET_AARCH64(void, interpolate_rows_neon, const InterpolateRowsArgs* args);
OCTET_X86_64(void, interpolate_pixels_avx2, const InterpolatePixelsArgs* args);
OCTET_X86_64(void, interpolate_pixels_vnni, const InterpolatePixelsArgs* args);
OCTET_AARCH64(void, interpolate_pixels_neon, const InterpolatePixelsArgs* args);

constexpr LevelFunctions<InterpolateRowsArgs> kInterpolateRows = {
    interpolate_rows_avx2, interpolate_rows_vnni, interpolate_rows_neon};
constexpr LevelFunctions<InterpolatePixelsArgs> kInterpolatePixels = {
    interpolate_pixels_avx2, interpolate_pixels_vnni, interpolate_pixels_neon};

}  // namespace octet
