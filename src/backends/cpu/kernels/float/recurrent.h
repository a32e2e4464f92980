// SPDX-License-Identifier: Apache-2.0
// What LSTM, GRU and RNN compute in f32: products of rows of weights with vectors, each in the lane order of core/reduce.h, and the
// cells of one step. Plain data and function pointers only, since instruction-set files include it.
#pragma once

#include "arch/kernel.h"
#include "backends/cpu/kernels/float/level_functions.h"

namespace octet {

// out[v * out_stride + row] = weights[row] . (x + v * x_stride), plus the row's bias where there is one.
struct RowsByVectorsArgs {
  const float* weights;  // [rows][count]
  const float* bias;     // [rows], or null
  long rows;
  long count;
  const float* x;
  long x_stride;  // may be negative
  long vectors;
  float* out;
  long out_stride;
};

// One step of one sequence. Sums of the input and of the state have a row for each gate and hidden element.
struct CellArgs {
  long hidden;
  const float* from_input;
  float* from_state;  // GRU overwrites what it has read
  float* h;
  float* c;  // LSTM
};

#define RECURRENT_FAMILY(kernel, args)                          \
  OCTET_X86_64(void, kernel##_f32_avx2, const args* arguments); \
  OCTET_X86_64(void, kernel##_f32_vnni, const args* arguments); \
  OCTET_AARCH64(void, kernel##_f32_neon, const args* arguments);
RECURRENT_FAMILY(rows_by_vectors, RowsByVectorsArgs)
RECURRENT_FAMILY(lstm_cell, CellArgs)
RECURRENT_FAMILY(gru_linear_cell,
                 CellArgs)  // the reset gate acts on what the weights make of the state
RECURRENT_FAMILY(gru_gates,
                 CellArgs)  // z, r and then r * h, in the places of their sums of the state
RECURRENT_FAMILY(gru_finish, CellArgs)  // h, when those of r * h are the third sums of the state
RECURRENT_FAMILY(rnn_tanh_cell, CellArgs)
RECURRENT_FAMILY(rnn_relu_cell, CellArgs)
#undef RECURRENT_FAMILY

constexpr LevelFunctions<RowsByVectorsArgs> kRowsByVectors = {
    rows_by_vectors_f32_avx2, rows_by_vectors_f32_vnni, rows_by_vectors_f32_neon};
constexpr LevelFunctions<CellArgs> kLstmCell = {lstm_cell_f32_avx2, lstm_cell_f32_vnni,
                                                lstm_cell_f32_neon};
constexpr LevelFunctions<CellArgs> kGruLinearCell = {
    gru_linear_cell_f32_avx2, gru_linear_cell_f32_vnni, gru_linear_cell_f32_neon};
constexpr LevelFunctions<CellArgs> kGruGates = {gru_gates_f32_avx2, gru_gates_f32_vnni,
                                                gru_gates_f32_neon};
constexpr LevelFunctions<CellArgs> kGruFinish = {gru_finish_f32_avx2, gru_finish_f32_vnni,
                                                 gru_finish_f32_neon};
constexpr LevelFunctions<CellArgs> kRnnTanhCell = {rnn_tanh_cell_f32_avx2, rnn_tanh_cell_f32_vnni,
                                                   rnn_tanh_cell_f32_neon};
constexpr LevelFunctions<CellArgs> kRnnReluCell = {rnn_relu_cell_f32_avx2, rnn_relu_cell_f32_vnni,
                                                   rnn_relu_cell_f32_neon};

}  // namespace octet
