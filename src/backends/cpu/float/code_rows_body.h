// SPDX-License-Identifier: Apache-2.0
// Softmax and layer_norm from codes to codes: a row's reals stay in L1, and where a multiplication tells the code the
// division is left out. Included behind rows_body.h.
#pragma once

#include "backends/cpu/float/rows_body.h"

namespace octet {
namespace {

// f(i, elements) for each register of a row.
template <class F>
inline void for_registers(long count, const F& f) {
  long i = 0;
  for (; i + kLanes <= count; i += kLanes) f(i, kLanes);
  if (i < count) f(i, static_cast<int>(count - i));
}

inline void to_reals(const CodeRowArgs* args, const unsigned char* src, float* dst, long count) {
  const V zero = v_set(args->zero_x), scale = v_set(args->scale_x);
  for_registers(count, [&](long i, int n) {
    v_store_n(dst + i, v_mul(v_sub(v_load_codes_n(src + i, n), zero), scale), n);
  });
}

// Reals become codes. The quotient is guessed by a multiplication that is off by less than 1e-4 within the range of codes;
// only where that leaves the nearest integer open is it computed as it is defined.
class ToCodes {
 public:
  explicit ToCodes(const CodeRowArgs* args)
      : scale_(v_set(args->scale_y)),
        zero_(v_set(args->zero_y)),
        lo_(v_set(-args->zero_y)),
        hi_(v_set(255.0f - args->zero_y)) {}

  // real() is the value to quantize, guess about its quotient by the scale.
  template <class F>
  V operator()(V guess, const F& real) const {
    const V t = v_min(v_max(guess, lo_), hi_);
    const V n = v_rne(t);
    if (v_any(v_lt(v_set(0.4999f), v_magnitude(v_sub(t, n))))) return exact(real());
    return v_add(n, zero_);
  }

  V exact(V real) const { return v_add(v_rne(v_min(v_max(v_div(real, scale_), lo_), hi_)), zero_); }

 private:
  V scale_, zero_, lo_, hi_;
};

inline long highest_code(const unsigned char* src, long count) {
  unsigned char highest = 0;
  for (long i = 0; i < count; ++i) highest = src[i] > highest ? src[i] : highest;
  return highest;
}

inline void code_softmax_long(const CodeRowArgs* args) {
  float* reals = args->reals;
  const V zero = v_set(args->zero_x), scale = v_set(args->scale_x);
  // The scale is positive, so the highest code is the highest real.
  const V highest = v_set(static_cast<float>(highest_code(args->src, args->count)));
  const V max = v_mul(v_sub(highest, zero), scale);
  Lanes lanes = lanes_set(0.0f);
  for_registers(args->count, [&](long i, int n) {
    const V x = v_mul(v_sub(v_load_codes_n(args->src + i, n), zero), scale);
    const V e = v_exp(v_sub(x, max));
    V& lane = lanes_of(lanes, i);
    lane = n == kLanes ? v_add(lane, e) : v_keep_n(v_add(lane, e), lane, n);
    v_store_n(reals + i, e, n);
  });
  const float total = fold_add(lanes);
  const V sum = v_set(total), factor = v_set(1.0f / (total * args->scale_y));
  const ToCodes to_codes(args);
  for_registers(args->count, [&](long i, int n) {
    const V e = v_load_n(reals + i, n);
    v_store_codes_n(args->dst + i, to_codes(v_mul(e, factor), [&] { return v_div(e, sum); }), n);
  });
}

// As many rows at once as softmax_short takes.
inline void code_softmax_short(const CodeRowArgs* args) {
  float reals[kShortRow * kLanes];
  const ToCodes to_codes(args);
  for (long row = 0; row < args->rows; row += kLanes) {
    const long rows = args->rows - row < kLanes ? args->rows - row : kLanes;
    const long first = row * args->count;
    to_reals(args, args->src + first, reals, rows * args->count);
    softmax_short(reals, reals, args->count, rows);
    for_registers(rows * args->count, [&](long i, int n) {
      v_store_codes_n(args->dst + first + i, to_codes.exact(v_load_n(reals + i, n)), n);
    });
  }
}

inline void code_layer_norm_row(const CodeRowArgs* args) {
  float* reals = args->reals;
  to_reals(args, args->src, reals, args->count);
  const float count = static_cast<float>(args->count);
  const float sum = fold_add(reduce_row<step_sum>(reals, args->count, 0.0f, v_set(0.0f)));
  const V mean = v_set(sum / count);
  const float squares = fold_add(reduce_row<step_square>(reals, args->count, 0.0f, mean));
  const V factor = v_set(1.0f / __builtin_sqrtf(squares / count + args->epsilon));
  const V reciprocal = v_set(1.0f / args->scale_y);
  const ToCodes to_codes(args);
  for_registers(args->count, [&](long i, int n) {
    const V y = normalized(v_load_n(reals + i, n), mean, factor, v_load_n(args->scale + i, n),
                           v_load_n(args->bias + i, n));
    v_store_codes_n(args->dst + i, to_codes(v_mul(y, reciprocal), [&] { return y; }), n);
  });
}

template <void (*kRow)(const CodeRowArgs*)>
inline void each_code_row(const CodeRowArgs* args) {
  CodeRowArgs one = *args;
  for (long row = 0; row < args->rows; ++row, one.src += one.count, one.dst += one.count)
    kRow(&one);
}

}  // namespace

void OCTET_ISA(code_softmax_f32)(const CodeRowArgs* args) {
  args->count <= kShortRow ? code_softmax_short(args) : each_code_row<code_softmax_long>(args);
}
void OCTET_ISA(code_layer_norm_f32)(const CodeRowArgs* args) {
  each_code_row<code_layer_norm_row>(args);
}

}  // namespace octet
