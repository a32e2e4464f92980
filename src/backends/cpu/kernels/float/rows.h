// SPDX-License-Identifier: Apache-2.0
// f32 kernels over one dense row, or over a block of channels-last pixels: softmax, normalizations, sums in the lane
// order of core/reduce.h, pools. Plain data and function pointers only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

struct RowArgs {
  const float* src;
  float* dst;
  long count;
  const float* scale;  // layer_norm: one for each element
  const float* bias;   // the same; zeros when the operator has none
  float epsilon;
  long rows = 1;  // softmax, log_softmax, layer_norm: dense rows, one behind the other
};

// Rows that are worked on at once; longer ones, whose reals leave the cache, one by one.
constexpr int kCodeRows = 4;
constexpr long kLongRow = 1 << 16;
// Internal linkage: instruction-set files include this (ADR 3).
static constexpr long code_rows_at_once(long count) { return count > kLongRow ? 1 : kCodeRows; }

// Rows of codes: real = (code - zero_x) * scale_x; code = rne(clamp(real / scale_y, -zero_y, 255 - zero_y)) + zero_y.
struct CodeRowArgs {
  const unsigned char* src;
  const float* real_src;  // the reals themselves, or null
  unsigned char* dst;
  long count;
  long rows;
  float scale_x;
  float zero_x;
  float scale_y;
  float zero_y;
  const float* scale;  // layer_norm, as above
  const float* bias;
  float epsilon;
  float* reals;  // room for as many rows
};

// y = (x - mean) * factor * scale + bias, each operation rounded; the parameters step by 0 or 1.
struct NormalizeArgs {
  const float* src;
  float* dst;
  long count;
  const float* mean;
  const float* factor;
  const float* scale;
  const float* bias;
  long step;
};

// Rows of such results as codes of [lo, hi]: code = rne(clamp(y / scale_y, lo - zero_y, hi - zero_y)) + zero_y. The parameters, one for each
// element of a row, are those of every row.
struct CodeNormalizeArgs {
  const float* src;
  unsigned char* dst;
  long count;
  long rows;
  const float* mean;
  const float* factor;
  const float* scale;
  const float* bias;
  float scale_y;
  float zero_y;
  float lo;
  float hi;
};

// Per channel over all pixels, in lane order: sum(x) or, with a mean, sum((x - mean)^2); then / divisor.
struct ColumnArgs {
  const float* src;
  float* dst;
  long channels;
  long pixels;
  long stride;        // between pixels
  const float* mean;  // null for sums
  float divisor;
};

// Softmax of `columns` rows that lie side by side: element i of each is `stride` behind element i - 1.
struct SoftmaxColumnsArgs {
  const float* src;
  float* dst;
  long count;
  long stride;
  long columns;
};

// Output pixels of a pool in a row, each of `rows` x `columns` taps, the first pixel's from src on.
struct PoolArgs {
  const void* src;
  void* dst;
  long pixels;
  long src_step;  // between the first taps of pixels
  long dst_step;
  long channels;
  long rows;
  long columns;
  long row_stride;  // between taps
  long column_stride;
  float divisor;  // average only; 0 gives 0
  bool halves;    // maxima only: of bf16, which AVX-512 alone reads and writes; else f32
};

// dst[i] = src[i] * exp(-beta * log(bias + factor * sum)), of the sum of squares of squares[i + tap * step] in the order of taps.
struct LrnArgs {
  const float* src;
  float* dst;
  long count;
  const float* squares;
  long taps;
  long step;
  float factor;
  float bias;
  float beta;
};

#define ROW_FAMILY(row, args)                                \
  OCTET_X86_64(void, row##_f32_avx2, const args* arguments); \
  OCTET_X86_64(void, row##_f32_vnni, const args* arguments); \
  OCTET_AARCH64(void, row##_f32_neon, const args* arguments);
ROW_FAMILY(softmax, RowArgs)
ROW_FAMILY(softmax_columns, SoftmaxColumnsArgs)
ROW_FAMILY(log_softmax, RowArgs)
ROW_FAMILY(layer_norm, RowArgs)
ROW_FAMILY(rms_norm, RowArgs)
ROW_FAMILY(code_softmax, CodeRowArgs)
ROW_FAMILY(code_layer_norm, CodeRowArgs)
ROW_FAMILY(row_sum, RowArgs)      // dst[0] = sum; count elements
ROW_FAMILY(row_squares, RowArgs)  // that of their squares
ROW_FAMILY(normalize, NormalizeArgs)
ROW_FAMILY(code_normalize, CodeNormalizeArgs)
ROW_FAMILY(column_sum, ColumnArgs)
ROW_FAMILY(max_pool, PoolArgs)
ROW_FAMILY(average_pool, PoolArgs)
ROW_FAMILY(lrn, LrnArgs)
#undef ROW_FAMILY

// A row of a family's table; each family has one function for each instruction set.
template <class Args>
struct FloatKernel {
  const char* name;
  void (*avx2)(const Args* args);
  void (*vnni)(const Args* args);
  void (*neon)(const Args* args);
};

constexpr FloatKernel<RowArgs> kSoftmaxF32 = {"softmax", softmax_f32_avx2, softmax_f32_vnni,
                                              softmax_f32_neon};
constexpr FloatKernel<SoftmaxColumnsArgs> kSoftmaxColumnsF32 = {
    "softmax_columns", softmax_columns_f32_avx2, softmax_columns_f32_vnni,
    softmax_columns_f32_neon};
constexpr FloatKernel<RowArgs> kLogSoftmaxF32 = {"log_softmax", log_softmax_f32_avx2,
                                                 log_softmax_f32_vnni, log_softmax_f32_neon};
constexpr FloatKernel<RowArgs> kLayerNormF32 = {"layer_norm", layer_norm_f32_avx2,
                                                layer_norm_f32_vnni, layer_norm_f32_neon};
constexpr FloatKernel<RowArgs> kRmsNormF32 = {"rms_norm", rms_norm_f32_avx2, rms_norm_f32_vnni,
                                              rms_norm_f32_neon};
constexpr FloatKernel<CodeRowArgs> kSoftmaxU8 = {"softmax", code_softmax_f32_avx2,
                                                 code_softmax_f32_vnni, code_softmax_f32_neon};
constexpr FloatKernel<CodeRowArgs> kLayerNormU8 = {
    "layer_norm", code_layer_norm_f32_avx2, code_layer_norm_f32_vnni, code_layer_norm_f32_neon};
constexpr FloatKernel<RowArgs> kRowSumF32 = {"row_sum", row_sum_f32_avx2, row_sum_f32_vnni,
                                             row_sum_f32_neon};
constexpr FloatKernel<RowArgs> kRowSquaresF32 = {"row_squares", row_squares_f32_avx2,
                                                 row_squares_f32_vnni, row_squares_f32_neon};
constexpr FloatKernel<NormalizeArgs> kNormalizeF32 = {"normalize", normalize_f32_avx2,
                                                      normalize_f32_vnni, normalize_f32_neon};
constexpr FloatKernel<CodeNormalizeArgs> kInstanceNormU8 = {
    "instance_norm_of_reals", code_normalize_f32_avx2, code_normalize_f32_vnni,
    code_normalize_f32_neon};
constexpr FloatKernel<ColumnArgs> kColumnSumF32 = {"column_sum", column_sum_f32_avx2,
                                                   column_sum_f32_vnni, column_sum_f32_neon};
constexpr FloatKernel<PoolArgs> kMaxPoolF32 = {"max_pool", max_pool_f32_avx2, max_pool_f32_vnni,
                                               max_pool_f32_neon};
constexpr FloatKernel<PoolArgs> kAveragePoolF32 = {"average_pool", average_pool_f32_avx2,
                                                   average_pool_f32_vnni, average_pool_f32_neon};

constexpr FloatKernel<LrnArgs> kLrnF32 = {"lrn", lrn_f32_avx2, lrn_f32_vnni, lrn_f32_neon};

}  // namespace octet
