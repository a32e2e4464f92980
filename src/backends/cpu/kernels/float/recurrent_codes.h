// SPDX-License-Identifier: Apache-2.0
// What QLSTM, QGRU and QRNN multiply: rows of weights with vectors of codes, whose sums become reals. Plain data and function pointers only,
// since instruction-set files include it.
#pragma once

#include "arch/kernel.h"

namespace octet {

// How codes lie where they are multiplied. Columns go in pieces of 32 bits: four u8 by s8, or two s16 where nothing multiplies bytes without
// saturation. Rows of weights go in blocks of `lanes`, in each [pieces][lanes], zeros behind the last row and column; a vector is a row of pieces.
struct CodeLayout {
  long lanes;  // rows of a block
  long piece;  // columns of a piece
  long pieces(long columns) const { return (columns + piece - 1) / piece; }
  long blocks(long rows) const { return (rows + lanes - 1) / lanes; }
  // Pieces that a vector takes: what is written behind its last code has room, too.
  long room(long columns) const { return (columns + lanes - 1) / lanes * (lanes / piece); }
};

// out[v * out_stride + row] = float(starts[row] + weights[row] . (x + v * x_stride)) * multipliers[row], plus the row's bias; sums in s32.
struct RowsByCodesArgs {
  const void* weights = nullptr;
  const int* starts =
      nullptr;  // of all rows of the blocks: less what the zero point of x adds to the sum
  const float* multipliers = nullptr;
  const float* bias = nullptr;  // [rows], or null
  long rows = 0;
  long pieces = 0;
  const int* x = nullptr;
  long x_stride = 0;  // in pieces, as that of all that follow here
  long vectors = 0;
  float* out = nullptr;
  long out_stride = 0;
};

// Vectors of u8 as they are multiplied.
struct PlaceCodesArgs {
  const unsigned char* codes = nullptr;
  long stride = 0;  // in codes, may be negative
  long vectors = 0;
  long count = 0;
  int* out = nullptr;
  long out_stride = 0;
};

// A vector of codes: rne(clamp(state / scale, -127, 127)) + 128.
struct StateCodesArgs {
  const float* state = nullptr;
  int* out = nullptr;
  long count = 0;
  float scale = 1.0f;
};

struct RecurrentCodesKernels {
  CodeLayout layout;
  void (*multiply)(const RowsByCodesArgs* args);
  void (*place)(const PlaceCodesArgs* args);
  void (*round)(const StateCodesArgs* args);
};

#define RECURRENT_CODES(of_architecture, isa)                              \
  of_architecture(void, rows_by_codes_##isa, const RowsByCodesArgs* args); \
  of_architecture(void, place_codes_##isa, const PlaceCodesArgs* args);    \
  of_architecture(void, state_codes_##isa, const StateCodesArgs* args);
RECURRENT_CODES(OCTET_X86_64, avx2)
RECURRENT_CODES(OCTET_X86_64, vnni)
RECURRENT_CODES(OCTET_AARCH64, neon)
#undef RECURRENT_CODES

constexpr RecurrentCodesKernels kRecurrentCodesAvx2 = {
    {8, 2}, rows_by_codes_avx2, place_codes_avx2, state_codes_avx2};
constexpr RecurrentCodesKernels kRecurrentCodesVnni = {
    {16, 4}, rows_by_codes_vnni, place_codes_vnni, state_codes_vnni};
constexpr RecurrentCodesKernels kRecurrentCodesNeon = {
    {8, 2}, rows_by_codes_neon, place_codes_neon, state_codes_neon};

}  // namespace octet
