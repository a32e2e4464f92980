// SPDX-License-Identifier: Apache-2.0
// What RNN, GRU and LSTM share: shapes, directions, activations, and the walk over time. An operator's file adds its cell.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace octet {

// One activation of a cell, applied to clipped sums.
struct CellFunction {
  std::string_view name;  // as ONNX writes it
  f32 (*call)(f32 x, f32 alpha, f32 beta) = nullptr;
  f32 alpha = 0.0f, beta = 0.0f;
  f32 operator()(f32 x) const { return call(x, alpha, beta); }
};

enum RecurrentInput : size_t {
  kRecX,
  kRecW,
  kRecR,
  kRecB,
  kRecLengths,
  kRecInitialH,
  kRecInitialC,
  kRecPeepholes,
};

// Sizes, and offsets of rows of elements.
struct RecurrentGeometry {
  s64 steps = 0, batch = 0, input = 0, hidden = 0, directions = 1;
  bool batch_first = false;
  bool reverse = false;  // the first direction

  s64 x_at(s64 time, s64 n) const {
    return (batch_first ? n * steps + time : time * batch + n) * input;
  }
  s64 y_at(s64 time, s64 d, s64 n) const {
    const s64 row =
        batch_first ? (n * steps + time) * directions + d : (time * directions + d) * batch + n;
    return row * hidden;
  }
  s64 state_at(s64 d, s64 n) const {
    return (batch_first ? n * directions + d : d * batch + n) * hidden;
  }
  Shape state_shape() const {
    return batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  }
  Shape y_shape() const {
    return batch_first ? Shape{batch, steps, directions, hidden}
                       : Shape{steps, directions, batch, hidden};
  }
};
RecurrentGeometry recurrent_geometry(const Node& node, const Shape& x, const Shape& r);

// What distinguishes the three operators.
struct RecurrentKind {
  s64 gates = 1;                                 // rows of the weights for each hidden element
  std::vector<const char*> default_activations;  // of one direction
  bool has_cell = false;                         // carries C besides H
};

const RecurrentKind& recurrent_kind(std::string_view op);

// Of each direction, as many as the kind has by default. Throws Error for what is no function.
std::vector<CellFunction> recurrent_functions(const Node& node, const RecurrentKind& kind,
                                              s64 directions);

// Throws Error where the sequence is longer than the input, or shorter than nothing.
s64 checked_length(s64 length, s64 sequence, s64 steps);

// One step of one sequence: the cell reads x and h (and c) and writes h (and c).
struct CellStep {
  s64 input = 0, hidden = 0, gates = 0;
  f32 clip = 0.0f;  // 0: none
  const CellFunction* functions = nullptr;
  const f32* w = nullptr;     // [gates * hidden][input]
  const f32* r = nullptr;     // [gates * hidden][hidden]
  const f32* bias = nullptr;  // of w, then of r; null: zeros
  const f32* peepholes = nullptr;
  const f32* x = nullptr;
  f32* h = nullptr;
  f32* c = nullptr;
  // Of codes: x and the weights hold codes less their zero points, sums of products are exact, and the state is rounded to codes before it
  // is multiplied. One number for each row; null: reals.
  const f32* x_multipliers = nullptr;
  const f32* state_multipliers = nullptr;
  f32 state_scale = 1.0f;
  f32* sums = nullptr;     // scratch of gates * hidden
  f32* next = nullptr;     // scratch of hidden
  f32* rounded = nullptr;  // scratch of hidden

  // What of a state is multiplied: itself, or its codes, until the next call.
  const f32* factors(const f32* state) const;
  // Of row `row`: w x and its bias, and r factors and its bias.
  f32 from_input(s64 row) const;
  f32 from_state(s64 row, const f32* factors) const;
  f32 clipped(f32 x) const;
};

void infer_recurrent(Inference& inference, const RecurrentKind& kind);
void eval_recurrent(const Eval& eval, const RecurrentKind& kind, void (*cell)(const CellStep&));

// Sums of rows of the input, then of the state, for each direction.
struct RecurrentMultipliers {
  std::span<const f32> x, state;
  f32 state_scale = 1.0f;
};
// The same where x, w and r are codes less their zero points, as reals.
void eval_recurrent_of_codes(const Eval& eval, const RecurrentKind& kind,
                             void (*cell)(const CellStep&),
                             const RecurrentMultipliers& multipliers);

// One step without peepholes or coupled gates (operators/lstm.cc, gru.cc, rnn.cc).
void lstm_cell(const CellStep& step);
void gru_cell(const CellStep& step);
void gru_linear_cell(const CellStep& step);  // linear_before_reset
void rnn_cell(const CellStep& step);
// The codes of a state of -1..1: s8, without -128.
inline constexpr s32 kMostStateCode = 127;

}  // namespace octet
