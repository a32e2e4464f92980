// SPDX-License-Identifier: Apache-2.0
// The kernel of taps.h for one instruction set. The including file defines OCTET_ISA(name) and includes its vec header.
#pragma once

#include "backends/cpu/kernels/float/sum_end_body.h"
#include "backends/cpu/kernels/float/taps.h"

namespace octet {
namespace {

// Pixels at a time: their sums fill the registers that hide what a multiply-add takes.
constexpr int kTapPixels = 8;

// Where the sums of rows of pixels go, and how many channels of each.
template <class Out>
struct TapPlace {
  Out* dst;
  long row, pixel;
  int n;
};

template <int kRows, int kPixels, bool kWhole, class Out>
__attribute__((always_inline)) inline void tap_store(const TapPlace<Out>& to,
                                                     const V (&sums)[kRows * kPixels]) {
#pragma GCC unroll 10
  for (int i = 0; i < kRows * kPixels; ++i) {
    Out* at = to.dst + i / kPixels * to.row + i % kPixels * to.pixel;
    kWhole ? v_store(at, sums[i]) : v_store_n(at, sums[i], to.n);
  }
}

// What becomes of sums. An instruction set has an overload for what else it stores.
template <int kRows, int kPixels, bool kWhole>
__attribute__((always_inline)) inline void tap_give(const TapPlace<float>& to, const SumEnd& end,
                                                    V (&sums)[kRows * kPixels]) {
  end.finish(sums);
  tap_store<kRows, kPixels, kWhole>(to, sums);
}

// `n` channels from `c` on, of kPixels pixels from `p` on.
template <class In, class Out, int kPixels, bool kWhole>
inline void tap_block(const TapsArgs* args, const SumEnd& end, long p, long c, int n) {
  const auto load = [n](const auto* from) { return kWhole ? v_load(from) : v_load_n(from, n); };
  V sums[kPixels];
  const V bias = load(args->bias + c);
#pragma GCC unroll 8
  for (V& sum : sums) sum = bias;
  const long step = args->step, channels = args->channels;
  for (long t = 0; t < args->tap_count; ++t) {
    const V w = load(args->weights[t] + c);
    const In* x = static_cast<const In*>(args->taps[t]) + p * step + c;
#pragma GCC unroll 8
    for (int i = 0; i < kPixels; ++i) sums[i] = v_fma(load(x + i * step), w, sums[i]);
  }
  Out* dst = static_cast<Out*>(args->dst) + p * channels + c;
  tap_give<1, kPixels, kWhole>(TapPlace<Out>{dst, 0, channels, n}, end, sums);
}

template <class In, class Out, int kPixels>
inline void tap_channels(const TapsArgs* args, const SumEnd& end, long p) {
  const long channels = args->channels;
  long c = 0;
  for (; c + kLanes <= channels; c += kLanes)
    tap_block<In, Out, kPixels, true>(args, end, p, c, kLanes);
  const int rest = static_cast<int>(channels - c);
  if (rest > 0) tap_block<In, Out, kPixels, false>(args, end, p, c, rest);
}

constexpr int kPairRows = 2, kSide = 3;  // 3x3 taps

// What lies at row `y` and column `x` of the taps of all sums, to those that it belongs to. Inline, since only known places choose registers.
template <int kPixels>
__attribute__((always_inline)) inline void add_value(V (&sums)[kPairRows * kPixels],
                                                     const V (&w)[kSide * kSide], V value, int y,
                                                     int x) {
#pragma GCC unroll 2
  for (int row = 0; row < kPairRows; ++row) {
#pragma GCC unroll 5
    for (int i = 0; i < kPixels; ++i) {
      const bool tap = y >= row && y - row < kSide && x >= i && x - i < kSide;
      V& sum = sums[row * kPixels + i];
      if (tap) sum = v_fma(value, w[(y - row) * kSide + x - i], sum);
    }
  }
}

// Of kPixels pixels of each of two rows.
template <class In, class Out, int kPixels, bool kWhole>
inline void row_block(const TapRowsArgs* args, const SumEnd& end, long p, long c, int n) {
  const auto load = [n](const auto* from) { return kWhole ? v_load(from) : v_load_n(from, n); };
  const long channels = args->channels, src_row = args->src_row, dst_row = args->dst_row;
  V w[kSide * kSide], sums[kPairRows * kPixels];
#pragma GCC unroll 9
  for (int t = 0; t < kSide * kSide; ++t) w[t] = load(args->weights + t * channels + c);
  const V bias = load(args->bias + c);
#pragma GCC unroll 10
  for (V& sum : sums) sum = bias;
  const In* src = static_cast<const In*>(args->src) + p * channels + c;
#pragma GCC unroll 4
  for (int y = 0; y < kPairRows + kSide - 1; ++y) {
#pragma GCC unroll 7
    for (int x = 0; x < kPixels + kSide - 1; ++x)
      add_value<kPixels>(sums, w, load(src + y * src_row + x * channels), y, x);
  }
  Out* dst = static_cast<Out*>(args->dst) + p * channels + c;
  tap_give<kPairRows, kPixels, kWhole>(TapPlace<Out>{dst, dst_row, channels, n}, end, sums);
}

template <class In, class Out, int kPixels>
inline void row_channels(const TapRowsArgs* args, const SumEnd& end, long p) {
  const long channels = args->channels;
  long c = 0;
  for (; c + kLanes <= channels; c += kLanes)
    row_block<In, Out, kPixels, true>(args, end, p, c, kLanes);
  const int rest = static_cast<int>(channels - c);
  if (rest > 0) row_block<In, Out, kPixels, false>(args, end, p, c, rest);
}

template <class In, class Out>
inline void taps_of(const TapsArgs* args) {
  const SumEnd end(args->end);
  long p = 0;
  for (; p + kTapPixels <= args->count; p += kTapPixels)
    tap_channels<In, Out, kTapPixels>(args, end, p);
  if (p + 4 <= args->count) tap_channels<In, Out, 4>(args, end, p), p += 4;
  for (; p < args->count; ++p) tap_channels<In, Out, 1>(args, end, p);
}

template <class In, class Out>
inline void rows_of(const TapRowsArgs* args) {
  constexpr int kPixels = 5;
  const SumEnd end(args->end);
  long p = 0;
  for (; p + kPixels <= args->count; p += kPixels) row_channels<In, Out, kPixels>(args, end, p);
  for (; p < args->count; ++p) row_channels<In, Out, 1>(args, end, p);
}

}  // namespace
}  // namespace octet
