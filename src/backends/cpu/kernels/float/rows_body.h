// SPDX-License-Identifier: Apache-2.0
// The kernels of rows.h for one instruction set. The including file defines OCTET_ISA(name) and includes its vec header.
#pragma once

#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/kernels/float/vec_math.h"

namespace octet {
namespace {

inline int rest_of(long count, long i) {
  return count - i < kLanes ? static_cast<int>(count - i) : kLanes;
}

// lane = f(lane, element) over a row, with the lanes beyond its end left as they are.
template <V (*kStep)(V lane, V x, V parameter)>
inline Lanes reduce_row(const float* src, long count, float start, V parameter) {
  Lanes lanes = lanes_set(start);
  long i = 0;
  for (; i + kReduceWidth <= count; i += kReduceWidth) {
    for (long j = 0; j < kReduceWidth; j += kLanes) {
      V& lane = lanes_of(lanes, j);
      lane = kStep(lane, v_load(src + i + j), parameter);
    }
  }
  for (; i < count; i += kLanes) {
    const int n = rest_of(count, i);
    V& lane = lanes_of(lanes, i);
    lane = v_keep_n(kStep(lane, v_load_n(src + i, n), parameter), lane, n);
  }
  return lanes;
}

inline V step_sum(V lane, V x, V) { return v_add(lane, x); }
inline V step_max(V lane, V x, V) { return v_max(x, lane); }
// NaN wins: the instruction alone keeps the lane's.
inline V step_max_or_nan(V lane, V x, V) { return v_select(v_eq(x, x), v_max(x, lane), x); }
inline V step_square(V lane, V x, V mean) {
  const V d = v_sub(x, mean);
  return v_add(lane, v_mul(d, d));
}

// Rows of at most so many elements are turned, so that a register holds one element of many rows.
constexpr long kShortRow = 8;

// Up to kLanes rows; the sums are folded in the order of a long row's.
inline void softmax_short(const float* src, float* dst, long count, long rows) {
  alignas(64) float columns[kShortRow][kLanes] = {};
  for (long row = 0; row < rows; ++row) {
    for (long c = 0; c < count; ++c) columns[c][row] = src[row * count + c];
  }
  V max = v_set(-__builtin_inff());
  for (long c = 0; c < count; ++c) max = v_max(v_load(columns[c]), max);
  V values[kShortRow], sums[kShortRow];
  for (long c = 0; c < kShortRow; ++c) {
    values[c] = c < count ? v_exp(v_sub(v_load(columns[c]), max)) : v_set(0.0f);
    sums[c] = values[c];
  }
  for (long width = kShortRow / 2; width > 0; width /= 2) {
    for (long c = 0; c < width; ++c) sums[c] = v_add(sums[c], sums[c + width]);
  }
  for (long c = 0; c < count; ++c) v_store_n(columns[c], v_div(values[c], sums[0]), kLanes);
  for (long row = 0; row < rows; ++row) {
    for (long c = 0; c < count; ++c) dst[row * count + c] = columns[c][row];
  }
}

inline void softmax_long(const RowArgs* args) {
  const V none = v_set(0.0f);
  const V max =
      v_set(fold_max(reduce_row<step_max>(args->src, args->count, -__builtin_inff(), none)));
  for (long i = 0; i < args->count; i += kLanes) {
    const int n = rest_of(args->count, i);
    v_store_n(args->dst + i, v_exp(v_sub(v_load_n(args->src + i, n), max)), n);
  }
  const V sum = v_set(fold_add(reduce_row<step_sum>(args->dst, args->count, 0.0f, none)));
  for (long i = 0; i < args->count; i += kLanes) {
    const int n = rest_of(args->count, i);
    v_store_n(args->dst + i, v_div(v_load_n(args->dst + i, n), sum), n);
  }
}

// The rows one by one.
template <void (*kRow)(const RowArgs*)>
inline void each_row(const RowArgs* args) {
  RowArgs one = *args;
  for (long row = 0; row < args->rows; ++row, one.src += one.count, one.dst += one.count)
    kRow(&one);
}

inline V step_exp(V lane, V x, V max) { return v_add(lane, v_exp(v_sub(x, max))); }

inline void log_softmax_row(const RowArgs* args) {
  const float* src = args->src;
  const V max =
      v_set(fold_max(reduce_row<step_max>(src, args->count, -__builtin_inff(), v_set(0.0f))));
  const V sum = v_set(fold_add(reduce_row<step_exp>(src, args->count, 0.0f, max)));
  const V log_sum = v_log(sum);
  for (long i = 0; i < args->count; i += kLanes) {
    const int n = rest_of(args->count, i);
    v_store_n(args->dst + i, v_sub(v_sub(v_load_n(src + i, n), max), log_sum), n);
  }
}

inline void softmax(const RowArgs* args) {
  const long count = args->count;
  if (count > kShortRow) return each_row<softmax_long>(args);
  for (long row = 0; row < args->rows; row += kLanes) {
    const long rows = args->rows - row < kLanes ? args->rows - row : kLanes;
    softmax_short(args->src + row * count, args->dst + row * count, count, rows);
  }
}

// A register holds one element of many rows, and another each of their lanes.
inline void softmax_columns(const SoftmaxColumnsArgs* args) {
  for (long column = 0; column < args->columns; column += kLanes) {
    const int n = rest_of(args->columns, column);
    const float* src = args->src + column;
    float* dst = args->dst + column;
    V max = v_set(-__builtin_inff()), sums[kReduceWidth];
    for (V& sum : sums) sum = v_set(0.0f);
    for (long i = 0; i < args->count; ++i) max = v_max(v_load_n(src + i * args->stride, n), max);
    for (long i = 0; i < args->count; ++i) {
      const V value = v_exp(v_sub(v_load_n(src + i * args->stride, n), max));
      v_store_n(dst + i * args->stride, value, n);
      sums[i % kReduceWidth] = v_add(sums[i % kReduceWidth], value);
    }
    for (long width = kReduceWidth / 2; width > 0; width /= 2) {
      for (long c = 0; c < width; ++c) sums[c] = v_add(sums[c], sums[c + width]);
    }
    for (long i = 0; i < args->count; ++i) {
      float* at = dst + i * args->stride;
      v_store_n(at, v_div(v_load_n(at, n), sums[0]), n);
    }
  }
}

inline V normalized(V x, V mean, V factor, V scale, V bias) {
  return v_add(v_mul(v_mul(v_sub(x, mean), factor), scale), bias);
}

inline void layer_norm_row(const RowArgs* args) {
  const float count = static_cast<float>(args->count);
  const float sum = fold_add(reduce_row<step_sum>(args->src, args->count, 0.0f, v_set(0.0f)));
  const V mean = v_set(sum / count);
  const float squares = fold_add(reduce_row<step_square>(args->src, args->count, 0.0f, mean));
  const V factor = v_set(1.0f / __builtin_sqrtf(squares / count + args->epsilon));
  for (long i = 0; i < args->count; i += kLanes) {
    const int n = rest_of(args->count, i);
    const V y = normalized(v_load_n(args->src + i, n), mean, factor, v_load_n(args->scale + i, n),
                           v_load_n(args->bias + i, n));
    v_store_n(args->dst + i, y, n);
  }
}

inline void rms_norm_row(const RowArgs* args) {
  const float squares =
      fold_add(reduce_row<step_square>(args->src, args->count, 0.0f, v_set(0.0f)));
  const float mean = squares / static_cast<float>(args->count);
  const V factor = v_set(1.0f / __builtin_sqrtf(mean + args->epsilon));
  for (long i = 0; i < args->count; i += kLanes) {
    const int n = rest_of(args->count, i);
    const V x = v_load_n(args->src + i, n);
    v_store_n(args->dst + i, v_mul(v_mul(x, factor), v_load_n(args->scale + i, n)), n);
  }
}

inline void row_sum(const RowArgs* args) {
  *args->dst = fold_add(reduce_row<step_sum>(args->src, args->count, 0.0f, v_set(0.0f)));
}

inline void row_squares(const RowArgs* args) {
  *args->dst = fold_add(reduce_row<step_square>(args->src, args->count, 0.0f, v_set(0.0f)));
}

template <bool kMoves>
inline void normalize_row(const NormalizeArgs* args) {
  const V mean = v_set(*args->mean), factor = v_set(*args->factor);
  const V scale = v_set(*args->scale), bias = v_set(*args->bias);
  for (long i = 0; i < args->count; i += kLanes) {
    const int n = rest_of(args->count, i);
    const V x = v_load_n(args->src + i, n);
    const V y = kMoves ? normalized(x, v_load_n(args->mean + i, n), v_load_n(args->factor + i, n),
                                    v_load_n(args->scale + i, n), v_load_n(args->bias + i, n))
                       : normalized(x, mean, factor, scale, bias);
    v_store_n(args->dst + i, y, n);
  }
}

inline void normalize(const NormalizeArgs* args) {
  if (args->count <= 0) return;
  args->step != 0 ? normalize_row<true>(args) : normalize_row<false>(args);
}

// Pixel i goes into accumulator i mod 16 of its channel; the accumulators are folded pairwise at the end.
template <V (*kStep)(V, V, V)>
inline void reduce_columns(const ColumnArgs* args, long channel, V mean) {
  const int n = rest_of(args->channels, channel);
  const float* src = args->src + channel;
  V lanes[kReduceWidth];
  for (V& lane : lanes) lane = v_set(0.0f);
  long pixel = 0;
  // Constant indices keep the accumulators in registers.
  for (; pixel + kReduceWidth <= args->pixels; pixel += kReduceWidth) {
#pragma GCC unroll 16
    for (int i = 0; i < kReduceWidth; ++i, src += args->stride) {
      lanes[i] = kStep(lanes[i], v_load_n(src, n), mean);
    }
  }
  for (; pixel < args->pixels; ++pixel, src += args->stride) {
    V& lane = lanes[pixel % kReduceWidth];
    lane = kStep(lane, v_load_n(src, n), mean);
  }
  for (int width = kReduceWidth / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = v_add(lanes[i], lanes[i + width]);
  }
  v_store_n(args->dst + channel, v_div(lanes[0], v_set(args->divisor)), n);
}

inline void column_sum(const ColumnArgs* args) {
  for (long c = 0; c < args->channels; c += kLanes) {
    if (args->mean != nullptr) {
      reduce_columns<step_square>(args, c, v_load_n(args->mean + c, rest_of(args->channels, c)));
    } else {
      reduce_columns<step_sum>(args, c, v_set(0.0f));
    }
  }
}

// Of `n` channels from src on; kWhole: of a vector.
template <V (*kStep)(V, V, V), bool kWhole, class Element>
inline V pool_taps(const PoolArgs* args, const Element* src, int n, V start) {
  V value = start;
  for (long row = 0; row < args->rows; ++row) {
    const Element* tap = src + row * args->row_stride;
    for (long column = 0; column < args->columns; ++column, tap += args->column_stride) {
      value = kStep(value, kWhole ? v_load(tap) : v_load_n(tap, n), start);
    }
  }
  return value;
}

// `whole` makes a vector of what lies at a pixel's channels, `rest` the last few channels of it.
template <class Element, class Whole, class Rest>
inline void pool_pixels(const PoolArgs* args, const Whole& whole, const Rest& rest) {
  const Element* src = static_cast<const Element*>(args->src);
  Element* dst = static_cast<Element*>(args->dst);
  for (long p = 0; p < args->pixels; ++p, src += args->src_step, dst += args->dst_step) {
    long c = 0;
    for (; c + kLanes <= args->channels; c += kLanes) v_store(dst + c, whole(src + c));
    const int n = static_cast<int>(args->channels - c);
    if (n > 0) v_store_n(dst + c, rest(src + c, n), n);
  }
}

template <class Element>
inline void max_pool(const PoolArgs* args) {
  const V start = v_set(-__builtin_inff());
  pool_pixels<Element>(
      args,
      [=](const Element* src) {
        return pool_taps<step_max_or_nan, true>(args, src, kLanes, start);
      },
      [=](const Element* src, int n) {
        return pool_taps<step_max_or_nan, false>(args, src, n, start);
      });
}

inline void average_pool(const PoolArgs* args) {
  const V zero = v_set(0.0f);
  if (args->divisor == 0.0f)
    return pool_pixels<float>(
        args, [=](const float*) { return zero; }, [=](const float*, int) { return zero; });
  const V divisor = v_set(args->divisor);
  pool_pixels<float>(
      args,
      [=](const float* src) {
        return v_div(pool_taps<step_sum, true>(args, src, kLanes, zero), divisor);
      },
      [=](const float* src, int n) {
        return v_div(pool_taps<step_sum, false>(args, src, n, zero), divisor);
      });
}

inline void lrn(const LrnArgs* args) {
  const V factor = v_set(args->factor), bias = v_set(args->bias), power = v_set(-args->beta);
  for (long i = 0; i < args->count; i += kLanes) {
    const int n = rest_of(args->count, i);
    V sum = v_set(0.0f);
    for (long tap = 0; tap < args->taps; ++tap) {
      const V x = v_load_n(args->squares + i + tap * args->step, n);
      sum = v_add(sum, v_mul(x, x));
    }
    const V log = v_log(v_add(bias, v_mul(factor, sum)));
    v_store_n(args->dst + i, v_mul(v_load_n(args->src + i, n), v_exp(v_mul(power, log))), n);
  }
}

}  // namespace

void OCTET_ISA(softmax_f32)(const RowArgs* args) { softmax(args); }
void OCTET_ISA(softmax_columns_f32)(const SoftmaxColumnsArgs* args) { softmax_columns(args); }
void OCTET_ISA(log_softmax_f32)(const RowArgs* args) { each_row<log_softmax_row>(args); }
void OCTET_ISA(layer_norm_f32)(const RowArgs* args) { each_row<layer_norm_row>(args); }
void OCTET_ISA(rms_norm_f32)(const RowArgs* args) { each_row<rms_norm_row>(args); }
void OCTET_ISA(row_sum_f32)(const RowArgs* args) { row_sum(args); }
void OCTET_ISA(row_squares_f32)(const RowArgs* args) { row_squares(args); }
void OCTET_ISA(normalize_f32)(const NormalizeArgs* args) { normalize(args); }
void OCTET_ISA(column_sum_f32)(const ColumnArgs* args) { column_sum(args); }
void OCTET_ISA(average_pool_f32)(const PoolArgs* args) { average_pool(args); }
void OCTET_ISA(lrn_f32)(const LrnArgs* args) { lrn(args); }

}  // namespace octet
