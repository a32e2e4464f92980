// SPDX-License-Identifier: Apache-2.0
// Softmax and layer_norm from codes to codes: a row's reals stay in L1, and where a multiplication tells the code the
// division is left out. Included behind rows_body.h.
#pragma once

#include "backends/cpu/kernels/float/rows_body.h"

namespace octet {
namespace {

// f(i, elements) for each register of a row.
template <class F>
inline void for_registers(long count, const F& f) {
  long i = 0;
  for (; i + kLanes <= count; i += kLanes) f(i, kLanes);
  if (i < count) f(i, static_cast<int>(count - i));
}

struct ToReals {
  V zero, scale;

  explicit ToReals(const CodeRowArgs* args)
      : zero(v_set(args->zero_x)), scale(v_set(args->scale_x)) {}
  V operator()(const unsigned char* codes, int n) const {
    return v_mul(v_sub(v_load_codes_n(codes, n), zero), scale);
  }
};

// The same for a row that is real already.
struct AreReals {
  explicit AreReals(const CodeRowArgs*) {}
  V operator()(const float* reals, int n) const { return v_load_n(reals, n); }
};

// Reals become codes. The quotient is guessed by a multiplication that is off by less than 1e-4 within the range of codes;
// only where that leaves the nearest integer open is it computed as it is defined.
struct ToCodes {
  // Adding it rounds to the nearest integer; ties are left open anyway.
  static constexpr float kRound = 0x1.8p23f;

  V scale, reciprocal, zero, lo, hi;

  explicit ToCodes(const CodeRowArgs* args)
      : scale(v_set(args->scale_y)),
        reciprocal(v_set(1.0f / args->scale_y)),
        zero(v_set(args->zero_y)),
        lo(v_set(-args->zero_y)),
        hi(v_set(255.0f - args->zero_y)) {}

  explicit ToCodes(const CodeNormalizeArgs* args)
      : scale(v_set(args->scale_y)),
        reciprocal(v_set(1.0f / args->scale_y)),
        zero(v_set(args->zero_y)),
        lo(v_set(args->lo - args->zero_y)),
        hi(v_set(args->hi - args->zero_y)) {}

  // Of what is within the codes; NaN is the code of 0.
  V inside(V quotient) const { return v_min(v_max(v_number(quotient), lo), hi); }
  V exact(V real) const { return v_add(v_rne(inside(v_div(real, scale))), zero); }

  // The codes of `count` elements; guess(i, n) is about the quotient of real(i, n), n elements from i on.
  template <class Guess, class Real>
  void row(unsigned char* dst, long count, const Guess& guess, const Real& real) const {
    const auto finish = [&](long i, int n) { v_store_codes_n(dst + i, exact(real(i, n)), n); };
    long i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      V codes[4], doubt = v_set(0.0f);
      for (int j = 0; j < 4; ++j) {
        const V t = inside(guess(i + j * kLanes, kLanes));
        const V n = v_sub(v_add(t, v_set(kRound)), v_set(kRound));
        doubt = v_max(doubt, v_magnitude(v_sub(t, n)));
        codes[j] = v_add(n, zero);
      }
      const bool open = v_any(v_lt(v_set(0.4999f), doubt));
      for (int j = 0; j < 4; ++j) {
        open ? finish(i + j * kLanes, kLanes)
             : v_store_codes_n(dst + i + j * kLanes, codes[j], kLanes);
      }
    }
    for (; i < count; i += kLanes) finish(i, rest_of(count, i));
  }

  // The codes of `count` reals.
  void near(unsigned char* dst, long count, const float* reals) const {
    row(
        dst, count, [&](long i, int n) { return v_mul(v_load_n(reals + i, n), reciprocal); },
        [&](long i, int n) { return v_load_n(reals + i, n); });
  }
};

// The scale is positive, so the highest code is the highest real.
inline float highest(const unsigned char* src, long count) {
  unsigned char most = 0;
  for (long i = 0; i < count; ++i) most = src[i] > most ? src[i] : most;
  return most;
}
inline V highest_real(const ToReals& to_reals, float highest) {
  return v_mul(v_sub(v_set(highest), to_reals.zero), to_reals.scale);
}
inline float highest(const float* src, long count) {
  return fold_max(reduce_row<step_max>(src, count, -__builtin_inff(), v_set(0.0f)));
}
inline V highest_real(const AreReals&, float highest) { return v_set(highest); }

// Each step of several rows before the next, so that no step waits for the end of the one before.
// kNarrow: no two reals of a row are as far apart as exp needs bounds for.
template <int kRows, bool kNarrow, class Reals, class Source>
inline void code_softmax_rows(const CodeRowArgs* args, const Source* src) {
  const long stride = args->count;
  const Reals to_reals(args);
  const ToCodes to_codes(args);
  float most[kRows], sums[kRows];
  for (int r = 0; r < kRows; ++r) most[r] = highest(src + r * stride, args->count);
  for (int r = 0; r < kRows; ++r) {
    const V max = highest_real(to_reals, most[r]);
    Lanes lanes = lanes_set(0.0f);
    for_registers(args->count, [&](long i, int n) {
      const V x = v_sub(to_reals(src + r * stride + i, n), max);
      const V e = kNarrow ? v_exp_inside(x) : v_exp(x);
      V& lane = lanes_of(lanes, i);
      lane = n == kLanes ? v_add(lane, e) : v_keep_n(v_add(lane, e), lane, n);
      v_store_n(args->reals + r * stride + i, e, n);
    });
    sums[r] = fold_add(lanes);
  }
  for (int r = 0; r < kRows; ++r) {
    const V sum = v_set(sums[r]), factor = v_set(1.0f / (sums[r] * args->scale_y));
    const float* reals = args->reals + r * stride;
    to_codes.row(
        args->dst + r * stride, args->count,
        [&](long i, int n) { return v_mul(v_load_n(reals + i, n), factor); },
        [&](long i, int n) { return v_div(v_load_n(reals + i, n), sum); });
  }
}

// As many rows at once as softmax_short takes.
template <class Reals, class Source>
inline void code_softmax_short(const CodeRowArgs* args, const Source* src) {
  float reals[kShortRow * kLanes];
  const Reals to_reals(args);
  const ToCodes to_codes(args);
  for (long row = 0; row < args->rows; row += kLanes) {
    const long rows = args->rows - row < kLanes ? args->rows - row : kLanes;
    const long first = row * args->count;
    for_registers(rows * args->count,
                  [&](long i, int n) { v_store_n(reals + i, to_reals(src + first + i, n), n); });
    softmax_short(reals, reals, args->count, rows);
    to_codes.near(args->dst + first, rows * args->count, reals);
  }
}

// Rows of two: a register holds several, and each element's other one lies beside it. Codes are never NaN, so the operands of a
// maximum may change places.
template <bool kNarrow>
inline void code_softmax_pairs(const CodeRowArgs* args) {
  constexpr long kBlock = 8 * kLanes;
  float reals[kBlock];
  const ToReals to_reals(args);
  const ToCodes to_codes(args);
  const long count = 2 * args->rows;
  for (long first = 0; first < count; first += kBlock) {
    const long some = count - first < kBlock ? count - first : kBlock;
    for_registers(some, [&](long i, int n) {
      const V x = to_reals(args->src + first + i, n);
      const V below = v_sub(x, v_max(x, v_swap_pairs(x)));
      const V e = kNarrow ? v_exp_inside(below) : v_exp(below);
      v_store_n(reals + i, v_div(e, v_add(e, v_swap_pairs(e))), n);
    });
    to_codes.near(args->dst + first, some, reals);
  }
}

// Sums wait for one another along a row, so several rows are summed at once.
template <int kRows, class Reals, class Source>
inline void code_layer_norm_rows(const CodeRowArgs* args, const Source* src) {
  const long stride = args->count;
  const float count = static_cast<float>(args->count);
  const Reals to_reals(args);
  V mean[kRows], factor[kRows];
  Lanes lanes[kRows];
  for (Lanes& lane : lanes) lane = lanes_set(0.0f);
  for_registers(args->count, [&](long i, int n) {
    for (int r = 0; r < kRows; ++r) {
      const V x = to_reals(src + r * stride + i, n);
      V& lane = lanes_of(lanes[r], i);
      lane = n == kLanes ? v_add(lane, x) : v_keep_n(v_add(lane, x), lane, n);
      v_store_n(args->reals + r * stride + i, x, n);
    }
  });
  for (int r = 0; r < kRows; ++r) mean[r] = v_set(fold_add(lanes[r]) / count);
  for (Lanes& lane : lanes) lane = lanes_set(0.0f);
  for_registers(args->count, [&](long i, int n) {
    for (int r = 0; r < kRows; ++r) {
      const V x = v_load_n(args->reals + r * stride + i, n);
      V& lane = lanes_of(lanes[r], i);
      const V sum = step_square(lane, x, mean[r]);
      lane = n == kLanes ? sum : v_keep_n(sum, lane, n);
    }
  });
  for (int r = 0; r < kRows; ++r) {
    factor[r] = v_set(1.0f / __builtin_sqrtf(fold_add(lanes[r]) / count + args->epsilon));
  }
  const ToCodes to_codes(args);
  for (int r = 0; r < kRows; ++r) {
    const auto real = [&](long i, int n) {
      return normalized(v_load_n(args->reals + r * stride + i, n), mean[r], factor[r],
                        v_load_n(args->scale + i, n), v_load_n(args->bias + i, n));
    };
    to_codes.row(
        args->dst + r * stride, args->count,
        [&](long i, int n) { return v_mul(real(i, n), to_codes.reciprocal); }, real);
  }
}

template <class Reals, class Source>
inline void code_layer_norm(CodeRowArgs* args, const Source* src) {
  const auto some = [&]<int kRows>() {
    for (; args->rows >= kRows; args->rows -= kRows) {
      code_layer_norm_rows<kRows, Reals>(args, src);
      src += kRows * args->count;
      args->dst += kRows * args->count;
    }
  };
  if (code_rows_at_once(args->count) > 1) some.template operator()<kCodeRows>();
  some.template operator()<1>();
}

template <bool kNarrow, class Reals, class Source>
inline void code_softmax(CodeRowArgs* args, const Source* src) {
  const auto some = [&]<int kRows>() {
    for (; args->rows >= kRows; args->rows -= kRows) {
      code_softmax_rows<kRows, kNarrow, Reals>(args, src);
      src += kRows * args->count;
      args->dst += kRows * args->count;
    }
  };
  if constexpr (__is_same(Source, unsigned char)) {
    if (args->count == 2) return code_softmax_pairs<kNarrow>(args);
  }
  if (args->count <= kShortRow) return code_softmax_short<Reals>(args, src);
  if (code_rows_at_once(args->count) > 1) some.template operator()<kCodeRows>();
  some.template operator()<1>();
}

inline void code_normalize(const CodeNormalizeArgs* args) {
  const ToCodes to_codes(args);
  for (long row = 0; row < args->rows; ++row) {
    const float* src = args->src + row * args->count;
    const auto real = [&](long i, int n) {
      return normalized(v_load_n(src + i, n), v_load_n(args->mean + i, n),
                        v_load_n(args->factor + i, n), v_load_n(args->scale + i, n),
                        v_load_n(args->bias + i, n));
    };
    to_codes.row(
        args->dst + row * args->count, args->count,
        [&](long i, int n) { return v_mul(real(i, n), to_codes.reciprocal); }, real);
  }
}

}  // namespace

void OCTET_ISA(code_normalize_f32)(const CodeNormalizeArgs* args) { code_normalize(args); }
void OCTET_ISA(code_softmax_f32)(const CodeRowArgs* arguments) {
  CodeRowArgs args = *arguments;
  if (args.real_src != nullptr) return code_softmax<false, AreReals>(&args, args.real_src);
  255.0f * args.scale_x < -kExpMin - 1.0f ? code_softmax<true, ToReals>(&args, args.src)
                                          : code_softmax<false, ToReals>(&args, args.src);
}
void OCTET_ISA(code_layer_norm_f32)(const CodeRowArgs* arguments) {
  CodeRowArgs args = *arguments;
  args.real_src != nullptr ? code_layer_norm<AreReals>(&args, args.real_src)
                           : code_layer_norm<ToReals>(&args, args.src);
}

}  // namespace octet
