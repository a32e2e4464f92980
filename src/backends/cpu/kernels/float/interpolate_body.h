// SPDX-License-Identifier: Apache-2.0
// Interpolation for one instruction set. The including file defines OCTET_ISA(name) and includes its vec header.
#pragma once

#include "backends/cpu/kernels/float/interpolate.h"

namespace octet {
namespace {

// f(i, elements) for each register of a run; whole ones know their number when they are compiled.
template <class F>
[[gnu::always_inline]] inline void each_register(long count, const F& f) {
  long i = 0;
  for (; i + kLanes <= count; i += kLanes) f(i, kLanes);
  if (i < count) f(i, static_cast<int>(count - i));
}

// read(k, i, n): n elements of row k from i on.
template <class Read>
inline void sum_rows(const InterpolateRowsArgs* args, const Read& read) {
  each_register(
      args->count, [&](long i, int n) __attribute__((always_inline)) {
        V sum = v_set(0.0f);
        if (args->taps == 0) sum = read(0, i, n);
        for (long k = 0; k < args->taps; ++k)
          sum = v_add(sum, v_mul(v_set(args->weights[k]), read(k, i, n)));
        v_store_n(args->dst + i, sum, n);
      });
}

struct ToReals {
  float* dst;

  [[gnu::always_inline]] void operator()(long i, V sum, int n) const { v_store_n(dst + i, sum, n); }
};

struct ToCodes {
  unsigned char* dst;
  V multiplier, zero, lo, hi;

  explicit ToCodes(const InterpolatePixelsArgs* args)
      : dst(args->code_dst),
        multiplier(v_set(args->multiplier)),
        zero(v_set(args->zero)),
        lo(v_set(args->lo)),
        hi(v_set(args->hi)) {}

  [[gnu::always_inline]] void operator()(long i, V sum, int n) const {
    const V near = v_min(v_max(v_rne(v_mul(sum, multiplier)), lo), hi);
    v_store_codes_n(dst + i, v_add(near, zero), n);
  }
};

// Pixels of many elements, a register of elements at a time.
template <class Store>
inline void wide_pixels(const InterpolatePixelsArgs* args, const Store& store) {
  for (long x = 0; x < args->out; ++x) {
    each_register(
        args->inner, [&](long c, int n) __attribute__((always_inline)) {
          V sum = v_set(0.0f);
          if (args->taps == 0) sum = v_load_n(args->src + x * args->inner + c, n);
          for (long k = 0; k < args->taps; ++k) {
            const long at = k * args->out + x;
            const V tap = v_load_n(args->src + args->index[at] * args->inner + c, n);
            sum = v_add(sum, v_mul(v_set(args->weights[at]), tap));
          }
          store(x * args->inner + c, sum, n);
        });
  }
}

// Pixels of one element, a register of pixels at a time.
template <class Store>
inline void narrow_pixels(const InterpolatePixelsArgs* args, const Store& store) {
  each_register(
      args->out, [&](long x, int n) __attribute__((always_inline)) {
        V sum = v_set(0.0f);
        if (args->taps == 0) sum = v_load_n(args->src + x, n);
        for (long k = 0; k < args->taps; ++k) {
          const long at = k * args->out + x;
          const V tap = v_gather_n(args->src, args->index + at, n);
          sum = v_add(sum, v_mul(v_load_n(args->weights + at, n), tap));
        }
        store(x, sum, n);
      });
}

template <class Store>
inline void pixels(const InterpolatePixelsArgs* args, const Store& store) {
  args->inner == 1 ? narrow_pixels(args, store) : wide_pixels(args, store);
}

}  // namespace

void OCTET_ISA(interpolate_rows)(const InterpolateRowsArgs* args) {
  if (args->rows != nullptr)
    return sum_rows(
        args, [&](long k, long i, int n)
                  __attribute__((always_inline)) { return v_load_n(args->rows[k] + i, n); });
  sum_rows(
      args, [&](long k, long i, int n) __attribute__((always_inline)) {
        return v_sub(v_load_codes_n(args->code_rows[k] + i, n), v_set(args->zero));
      });
}

void OCTET_ISA(interpolate_pixels)(const InterpolatePixelsArgs* args) {
  args->dst != nullptr ? pixels(args, ToReals{args->dst}) : pixels(args, ToCodes(args));
}

}  // namespace octet
