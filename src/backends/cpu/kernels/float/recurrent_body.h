// SPDX-License-Identifier: Apache-2.0
// The kernels of recurrent.h for one instruction set: the operations of ops/shared/recurrent.cc, in its order. The including file
// defines OCTET_ISA(name) and includes its vec header.
#pragma once

#include "backends/cpu/kernels/float/recurrent.h"
#include "backends/cpu/kernels/float/vec_math.h"

namespace octet {
namespace {

constexpr int kRows = 4;  // of weights at once: their sums are independent

inline int rest_of(long count, long i) {
  return count - i < kLanes ? static_cast<int>(count - i) : kLanes;
}

inline void dot_four(const float* const (&w)[kRows], const float* x, long count, float* out) {
  Lanes sums[kRows] = {lanes_set(0.0f), lanes_set(0.0f), lanes_set(0.0f), lanes_set(0.0f)};
  long i = 0;
  for (; i + kReduceWidth <= count; i += kReduceWidth) {
    for (long j = 0; j < kReduceWidth; j += kLanes) {
      const V value = v_load(x + i + j);
      for (int row = 0; row < kRows; ++row) {
        V& lane = lanes_of(sums[row], j);
        lane = v_add(lane, v_mul(v_load(w[row] + i + j), value));
      }
    }
  }
  for (; i < count; i += kLanes) {
    const int n = rest_of(count, i);
    const V value = v_load_n(x + i, n);
    for (int row = 0; row < kRows; ++row) {
      V& lane = lanes_of(sums[row], i);
      lane = v_add(lane, v_mul(v_load_n(w[row] + i, n), value));
    }
  }
  fold_add_four(sums, out);
}

inline V sum_of(const CellArgs* a, long at, int n) {
  return v_add(v_load_n(a->from_input + at, n), v_load_n(a->from_state + at, n));
}

template <V (*kFunction)(V)>
inline void rnn_cell(const CellArgs* a) {
  for (long j = 0; j < a->hidden; j += kLanes) {
    const int n = rest_of(a->hidden, j);
    v_store_n(a->h + j, kFunction(sum_of(a, j, n)), n);
  }
}

// Of a NaN it is NaN.
inline V relu(V x) { return v_max(v_set(0.0f), x); }

inline void finish_gru(const CellArgs* a, V z, V next, long j, int n) {
  const V kept = v_mul(z, v_load_n(a->h + j, n));
  v_store_n(a->h + j, v_add(v_mul(v_sub(v_set(1.0f), z), v_tanh(next)), kept), n);
}

}  // namespace

void OCTET_ISA(rows_by_vectors_f32)(const RowsByVectorsArgs* a) {
  for (long row = 0; row < a->rows; row += kRows) {
    const long last = a->rows - 1 - row;
    const float* w[kRows];
    for (long i = 0; i < kRows; ++i) w[i] = a->weights + (row + (i < last ? i : last)) * a->count;
    for (long v = 0; v < a->vectors; ++v) {
      float sums[kRows];
      dot_four(w, a->x + v * a->x_stride, a->count, sums);
      float* out = a->out + v * a->out_stride + row;
      for (long i = 0; i < kRows && i <= last; ++i)
        out[i] = a->bias == nullptr ? sums[i] : sums[i] + a->bias[row + i];
    }
  }
}

void OCTET_ISA(lstm_cell_f32)(const CellArgs* a) {
  const long hidden = a->hidden;
  for (long j = 0; j < hidden; j += kLanes) {
    const int n = rest_of(hidden, j);
    const V i = v_sigmoid(sum_of(a, j, n));
    const V o = v_sigmoid(sum_of(a, hidden + j, n));
    const V f = v_sigmoid(sum_of(a, 2 * hidden + j, n));
    const V g = v_tanh(sum_of(a, 3 * hidden + j, n));
    const V c = v_add(v_mul(f, v_load_n(a->c + j, n)), v_mul(i, g));
    v_store_n(a->c + j, c, n);
    v_store_n(a->h + j, v_mul(o, v_tanh(c)), n);
  }
}

void OCTET_ISA(gru_linear_cell_f32)(const CellArgs* a) {
  const long hidden = a->hidden;
  for (long j = 0; j < hidden; j += kLanes) {
    const int n = rest_of(hidden, j);
    const V z = v_sigmoid(sum_of(a, j, n));
    const V r = v_sigmoid(sum_of(a, hidden + j, n));
    const V state = v_mul(r, v_load_n(a->from_state + 2 * hidden + j, n));
    finish_gru(a, z, v_add(v_load_n(a->from_input + 2 * hidden + j, n), state), j, n);
  }
}

void OCTET_ISA(gru_gates_f32)(const CellArgs* a) {
  const long hidden = a->hidden;
  for (long j = 0; j < hidden; j += kLanes) {
    const int n = rest_of(hidden, j);
    v_store_n(a->from_state + j, v_sigmoid(sum_of(a, j, n)), n);
    const V r = v_sigmoid(sum_of(a, hidden + j, n));
    v_store_n(a->from_state + hidden + j, v_mul(r, v_load_n(a->h + j, n)), n);
  }
}

void OCTET_ISA(gru_finish_f32)(const CellArgs* a) {
  for (long j = 0; j < a->hidden; j += kLanes) {
    const int n = rest_of(a->hidden, j);
    const V z = v_load_n(a->from_state + j, n);
    finish_gru(a, z, sum_of(a, 2 * a->hidden + j, n), j, n);
  }
}

void OCTET_ISA(rnn_tanh_cell_f32)(const CellArgs* a) { rnn_cell<v_tanh>(a); }
void OCTET_ISA(rnn_relu_cell_f32)(const CellArgs* a) { rnn_cell<relu>(a); }

}  // namespace octet
