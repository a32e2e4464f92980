// SPDX-License-Identifier: Apache-2.0
// The kernels of winograd.h for one instruction set. The including file defines OCTET_ISA(name) and includes its vec header.
#pragma once

#include "backends/cpu/kernels/float/sum_end_body.h"
#include "backends/cpu/kernels/float/winograd.h"

namespace octet {
namespace {

// Four numbers in a column or row of a tile.
struct Four {
  V at[4];
};

inline Four take_four(const Four& d) {
  return {{v_sub(d.at[0], d.at[2]), v_add(d.at[1], d.at[2]), v_sub(d.at[2], d.at[1]),
           v_sub(d.at[1], d.at[3])}};
}

inline Four take_column(const float* src, long row, int n) {
  return take_four({{v_load_n(src, n), v_load_n(src + row, n), v_load_n(src + 2 * row, n),
                     v_load_n(src + 3 * row, n)}});
}

// `n` channels from `c` on; neighbours share two columns.
inline void take_channels(const WinogradTakeArgs* args, long c, int n) {
  const float* src = args->src + c;
  float* dst = args->dst + c;
  const long pixel = args->pixel, row = args->row, point = args->point;
  Four k0 = take_column(src, row, n), k1 = take_column(src + pixel, row, n);
  for (long t = 0; t < args->tiles; ++t, src += 2 * pixel, dst += args->tile) {
    const Four k2 = take_column(src + 2 * pixel, row, n);
    const Four k3 = take_column(src + 3 * pixel, row, n);
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      const Four points = take_four({{k0.at[y], k1.at[y], k2.at[y], k3.at[y]}});
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) v_store_n(dst + (y * 4 + x) * point, points.at[x], n);
    }
    k0 = k2;
    k1 = k3;
  }
}

struct Two {
  V at[2];
};

inline Two give_two(V a, V b, V c, V d) { return {{v_add(v_add(a, b), c), v_sub(v_sub(b, c), d)}}; }

// The sums of a tile, with the bias: [row][column].
inline void give_sums(const WinogradGiveArgs* args, const float* src, V bias, int n,
                      V (&sums)[2][2]) {
  const long point = args->point;
  Two columns[4];
#pragma GCC unroll 4
  for (int x = 0; x < 4; ++x) {
    const float* from = src + x * point;
    columns[x] = give_two(v_load_n(from, n), v_load_n(from + 4 * point, n),
                          v_load_n(from + 8 * point, n), v_load_n(from + 12 * point, n));
  }
#pragma GCC unroll 2
  for (int y = 0; y < 2; ++y) {
    const Two two =
        give_two(columns[0].at[y], columns[1].at[y], columns[2].at[y], columns[3].at[y]);
    sums[y][0] = v_add(two.at[0], bias);
    sums[y][1] = v_add(two.at[1], bias);
  }
}

// Zero times a number is zero, but times an infinity or NaN.
inline bool all_finite(const V (&sums)[2][2]) {
  const V zero = v_set(0.0f);
  const V row0 = v_fma(sums[0][0], zero, v_mul(sums[0][1], zero));
  const V row1 = v_fma(sums[1][0], zero, v_mul(sums[1][1], zero));
  const V none = v_add(row0, row1);
  return !v_any(v_lt(v_select(v_eq(none, zero), zero, v_set(-1.0f)), zero));
}

struct GivenTile {
  long tile, channel;
  int channels;
};

// What the image has of a tile.
inline void give_pixels(const WinogradGiveArgs* args, const SumEnd& end, GivenTile at,
                        const V (&sums)[2][2]) {
  const long first = 2 * at.tile, columns = args->columns - first < 2 ? 1 : 2;
  const float* residual = args->residual;
  for (long y = 0; y < args->rows; ++y) {
    for (long x = 0; x < columns; ++x) {
      V sum = sums[y][x];
      if (residual != nullptr) {
        const float* from =
            residual + y * args->residual_row + (first + x) * args->residual_pixel + at.channel;
        sum = v_add(sum, v_load_n(from, at.channels));
      }
      v_store_n(args->dst + y * args->row + (first + x) * args->pixel + at.channel, end(sum),
                at.channels);
    }
  }
}

inline void give_channels(const WinogradGiveArgs* args, const SumEnd& end, long c, int n) {
  const V bias = v_load(args->bias + c);
  const float* src = args->src + c;
  for (long t = 0; 2 * t < args->columns; ++t, src += args->tile) {
    V sums[2][2];
    give_sums(args, src, bias, n, sums);
    if (!all_finite(sums)) {
      args->mend(args, t, c, n);
      continue;
    }
    give_pixels(args, end, {t, c, n}, sums);
  }
}

}  // namespace

void OCTET_ISA(winograd_take)(const WinogradTakeArgs* args) {
  for (long c = 0; c < args->channels; c += kLanes) {
    const long rest = args->channels - c;
    take_channels(args, c, rest < kLanes ? static_cast<int>(rest) : kLanes);
  }
}

void OCTET_ISA(winograd_give)(const WinogradGiveArgs* args) {
  const SumEnd end(args->end);
  for (long c = 0; c < args->channels; c += kLanes) {
    const long rest = args->channels - c;
    give_channels(args, end, c, rest < kLanes ? static_cast<int>(rest) : kLanes);
  }
}

}  // namespace octet
