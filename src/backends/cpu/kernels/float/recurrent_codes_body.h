// SPDX-License-Identifier: Apache-2.0
// The kernels of recurrent_codes.h for one instruction set. The including file defines OCTET_ISA(name), how its products are added and codes are
// stored, and includes its vec header.
#pragma once

#include "backends/cpu/kernels/float/recurrent_codes.h"

namespace octet {
namespace {

constexpr int kVectors = 4;     // at once, where there are so many
constexpr int kLoneBlocks = 8;  // at once by one vector: their sums are independent

inline void finish_rows(const RowsByCodesArgs* a, long row, long v, I sums) {
  const long rest = a->rows - row;
  const int n = rest < kLanes ? static_cast<int>(rest) : kLanes;
  V out = v_mul(v_from_int(sums), v_load_n(a->multipliers + row, n));
  if (a->bias != nullptr) out = v_add(out, v_load_n(a->bias + row, n));
  v_store_n(a->out + v * a->out_stride + row, out, n);
}

template <int kBlocks, int kCount>
inline void multiply(const RowsByCodesArgs* a, long row, long v) {
  constexpr long kBytes = 4 * kLanes;
  const char* weights = static_cast<const char*>(a->weights) + row / kLanes * a->pieces * kBytes;
  const int* x = a->x + v * a->x_stride;
  I sums[kBlocks][kCount];
  for (int b = 0; b < kBlocks; ++b) {
    for (int i = 0; i < kCount; ++i) sums[b][i] = i_load(a->starts + row + b * kLanes);
  }
  for (long k = 0; k < a->pieces; ++k) {
    I codes[kCount];
    for (int i = 0; i < kCount; ++i) codes[i] = i_set(x[i * a->x_stride + k]);
    for (int b = 0; b < kBlocks; ++b) {
      const I block = i_load(weights + (b * a->pieces + k) * kBytes);
      for (int i = 0; i < kCount; ++i) sums[b][i] = add_products(sums[b][i], codes[i], block);
    }
  }
  for (int b = 0; b < kBlocks; ++b) {
    for (int i = 0; i < kCount; ++i) finish_rows(a, row + b * kLanes, v + i, sums[b][i]);
  }
}

// All rows from `row` on that go in blocks of so many; the next one.
template <int kBlocks>
inline long all_blocks(const RowsByCodesArgs* a, long row) {
  for (; row + (kBlocks - 1) * kLanes < a->rows; row += kBlocks * kLanes) {
    long v = 0;
    if constexpr (kBlocks <= kMostBlocks) {
      for (; v + kVectors <= a->vectors; v += kVectors) multiply<kBlocks, kVectors>(a, row, v);
    }
    for (; v < a->vectors; ++v) multiply<kBlocks, 1>(a, row, v);
  }
  return row;
}

}  // namespace

void OCTET_ISA(rows_by_codes)(const RowsByCodesArgs* a) {
  long row = a->vectors < kVectors ? all_blocks<kLoneBlocks>(a, 0) : 0;
  row = all_blocks<kMostBlocks>(a, row);
  row = all_blocks<2>(a, row);
  all_blocks<1>(a, row);
}

void OCTET_ISA(place_codes)(const PlaceCodesArgs* a) {
  for (long v = 0; v < a->vectors; ++v)
    place(a->out + v * a->out_stride, a->codes + v * a->stride, a->count);
}

void OCTET_ISA(state_codes)(const StateCodesArgs* a) {
  const V scale = v_set(a->scale), most = v_set(127.0f), least = v_set(-127.0f);
  for (long i = 0; i < a->count; i += kLanes) {
    const int n = a->count - i < kLanes ? static_cast<int>(a->count - i) : kLanes;
    const V t = v_min(v_max(v_number(v_div(v_load_n(a->state + i, n), scale)), least), most);
    store_codes(a->out, i, v_add(v_rne(t), v_set(128.0f)));
  }
}

}  // namespace octet
