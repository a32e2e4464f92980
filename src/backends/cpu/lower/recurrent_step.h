// SPDX-License-Identifier: Apache-2.0
// A run of LSTM, GRU or RNN of reals, or of those of codes. Threads share out directions and sequences; each walks its sequences
// side by side, so that rows of weights serve all of them, and multiplies some steps' inputs at once, so that they serve these too.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/recurrent.h"
#include "backends/cpu/kernels/float/recurrent_codes.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/host/queue.h"
#include "ops/shared/recurrent.h"

namespace octet {

constexpr s64 kStepsAtOnce = 16;
constexpr s64 kMostSequences = 8;  // of one thread, side by side

template <class Args>
using RecurrentFunction = void (*)(const Args*);

struct RecurrentCells {
  s64 gates = 0;
  RecurrentFunction<CellArgs> cell = nullptr;    // from all sums
  RecurrentFunction<CellArgs> finish = nullptr;  // of a GRU whose third sums need the gates first
};

// Where a thread keeps what it works on, in elements from the beginning of its part of the workspace.
struct Room {
  s64 from_state = 0, h = 0, c = 0, codes = 0, size = 0;
};

// Rows that one call multiplies: all of W, those of R that the state is multiplied by, and those that what a reset gate leaves of it is.
enum RecurrentRows : size_t { kRowsOfX, kRowsOfState, kRowsOfReset, kRecurrentRows };

// Weights as kernels/float/recurrent_codes.h has them.
struct PackedRows {
  Tensor weights = {};  // bytes
  Tensor starts = {};   // s32
};
using PackedRecurrence = std::vector<std::array<PackedRows, kRecurrentRows>>;  // of each direction

// Of a node that multiplies codes: x by rows of W, and the state by rows of R once it is rounded to codes.
struct RecurrentCodes {
  RecurrentCodesKernels kernels;
  Tensor multipliers;  // of W's rows, then of R's
  f32 state_scale = 1.0f;
  std::shared_ptr<const PackedRecurrence> packed = nullptr;
};

struct RecurrentStep {
  RecurrentGeometry g;
  RecurrentCells cells;
  RecurrentFunction<RowsByVectorsArgs> multiply = nullptr;
  std::array<Tensor, kRecPeepholes> constants;  // empty where a run brings the operand
  std::array<bool, kRecPeepholes> reads{};      // the inputs that the node has
  std::array<bool, 3> writes{};                 // y, the last h, the last c
  std::vector<s64> lengths;                     // of the sequences; empty: all steps
  std::optional<Dtype> length;                  // the type of lengths that a run brings
  s64 together = 1;                             // sequences of one item
  std::optional<RecurrentCodes> codes;          // empty: reals
  Room room;

  s64 rows() const { return cells.gates * g.hidden; }
  // Gates whose sums of the state come before any other work.
  s64 gates_at_once() const { return cells.finish == nullptr ? cells.gates : 2; }
  s64 parts() const { return (g.batch + together - 1) / together; }

  // Null where the node leaves it out.
  const f32* operand(const StepArgs& step, size_t i) const {
    if (!reads[i]) return nullptr;
    return reinterpret_cast<const f32*>(constants[i] ? constants[i].data() : step.inputs[i]);
  }

  s64 length_of(const StepArgs& step, s64 n) const {
    if (!lengths.empty()) return lengths[static_cast<size_t>(n)];
    if (length == Dtype::s32) return reinterpret_cast<const s32*>(step.inputs[kRecLengths])[n];
    if (length == Dtype::s64) return reinterpret_cast<const s64*>(step.inputs[kRecLengths])[n];
    return g.steps;
  }

  // Throws the definition's Error for lengths of the run that are none.
  void operator()(const StepArgs& step) const {
    for (s64 n = 0; n < g.batch; ++n) checked_length(length_of(step, n), n, g.steps);
    walk_all(step);
  }

  void walk_all(const StepArgs& step) const noexcept {
    pool_of(step).parallel_for(g.directions * parts(), [&](s64 begin, s64 end, int thread) {
      f32* room_of_thread = reinterpret_cast<f32*>(step.workspace) + thread * room.size;
      for (s64 item = begin; item < end; ++item) Item(*this, step, item, room_of_thread).run();
    });
  }

  // Some sequences in one direction.
  class Item {
   public:
    Item(const RecurrentStep& s, const StepArgs& step, s64 item, f32* from_input)
        : s_(s),
          step_(step),
          d_(item / s.parts()),
          first_(item % s.parts() * s.together),
          count_(std::min(s.together, s.g.batch - first_)),
          backwards_(s.g.reverse || d_ == 1),
          from_input_(from_input),
          from_state_(from_input + s.room.from_state),
          h_(from_input + s.room.h),
          c_(from_input + s.room.c),
          codes_(reinterpret_cast<s32*>(from_input + s.room.codes)) {}

    void run() const noexcept {
      for (s64 n = 0; n < count_; ++n) {
        load(kRecInitialH, h_, n);
        load(kRecInitialC, c_, n);
      }
      // Sequences of several lengths are walked one by one.
      const s64 length = s_.length_of(step_, first_);
      for (s64 t = 0; t < length; t += kStepsAtOnce)
        walk(t, std::min(t + kStepsAtOnce, length), length);
      for (s64 time = length; time < s_.g.steps; ++time) {
        if (s_.writes[0]) std::fill_n(y(time, 0), s_.g.hidden, 0.0f);
      }
      for (s64 n = 0; n < count_; ++n) {
        store(1, h_, n);
        store(2, c_, n);
      }
    }

   private:
    s64 time_of(s64 t, s64 length) const { return backwards_ ? length - 1 - t : t; }

    f32* y(s64 time, s64 n) const { return f32_output(step_, 0) + s_.g.y_at(time, d_, first_ + n); }

    void load(size_t input, f32* state, s64 n) const {
      const s64 hidden = s_.g.hidden;
      const f32* given = s_.operand(step_, input);
      if (given == nullptr) {
        std::fill_n(state + n * hidden, hidden, 0.0f);
      } else {
        std::copy_n(given + s_.g.state_at(d_, first_ + n), hidden, state + n * hidden);
      }
    }

    void store(size_t output, const f32* state, s64 n) const {
      if (!s_.writes[output]) return;
      std::copy_n(state + n * s_.g.hidden, s_.g.hidden,
                  f32_output(step_, output) + s_.g.state_at(d_, first_ + n));
    }

    // Steps [begin, end) of sequences of so many.
    void walk(s64 begin, s64 end, s64 length) const noexcept {
      for (s64 n = 0; n < count_; ++n) multiply_inputs(begin, end, length, n);
      for (s64 t = begin; t < end; ++t) {
        multiply_states(0, s_.gates_at_once(), h_, s_.g.hidden);
        run_cell(s_.cells.cell, t - begin);
        if (s_.cells.finish != nullptr) {
          multiply_states(2, 1, from_state_ + s_.g.hidden, s_.rows());
          run_cell(s_.cells.finish, t - begin);
        }
        for (s64 n = 0; n < count_ && s_.writes[0]; ++n)
          std::copy_n(h_ + n * s_.g.hidden, s_.g.hidden, y(time_of(t, length), n));
      }
    }

    void run_cell(RecurrentFunction<CellArgs> cell, s64 t) const noexcept {
      const s64 rows = s_.rows(), hidden = s_.g.hidden;
      for (s64 n = 0; n < count_; ++n) {
        const CellArgs args{hidden, from_input_ + (n * kStepsAtOnce + t) * rows,
                            from_state_ + n * rows, h_ + n * hidden, c_ + n * hidden};
        cell(&args);
      }
    }

    // `of_state`: the row of R that the first of the rows is.
    void multiply_codes(RecurrentRows which, s64 of_state, RowsByCodesArgs args) const noexcept {
      const RecurrentCodes& codes = *s_.codes;
      const PackedRows& packed = (*codes.packed)[static_cast<size_t>(d_)][which];
      const s64 product = which == kRowsOfX ? 0 : 1, rows = s_.rows();
      const f32* bias = s_.operand(step_, kRecB);
      args.weights = packed.weights.data();
      args.starts = packed.starts.as<s32>().data();
      args.multipliers =
          codes.multipliers.as<f32>().data() + (product * s_.g.directions + d_) * rows + of_state;
      args.bias = bias == nullptr ? nullptr : bias + (d_ * 2 + product) * rows + of_state;
      args.x = codes_;
      args.out_stride = rows;
      codes.kernels.multiply(&args);
    }

    void multiply_input_codes(s64 begin, s64 end, s64 length, s64 n) const noexcept {
      const CodeLayout& layout = s_.codes->kernels.layout;
      const s64 stride = s_.g.x_at(1, 0) - s_.g.x_at(0, 0), room = layout.room(s_.g.input);
      const u8* x = reinterpret_cast<const u8*>(step_.inputs[kRecX]) +
                    s_.g.x_at(time_of(begin, length), first_ + n);
      const PlaceCodesArgs place{
          x, backwards_ ? -stride : stride, end - begin, s_.g.input, codes_, room};
      s_.codes->kernels.place(&place);
      multiply_codes(kRowsOfX, 0,
                     {.rows = s_.rows(),
                      .pieces = layout.pieces(s_.g.input),
                      .x_stride = room,
                      .vectors = end - begin,
                      .out = from_input_ + n * kStepsAtOnce * s_.rows()});
    }

    void multiply_state_codes(s64 gate, s64 count, const f32* vectors, s64 stride) const noexcept {
      const CodeLayout& layout = s_.codes->kernels.layout;
      const s64 hidden = s_.g.hidden, room = layout.room(hidden);
      for (s64 n = 0; n < count_; ++n) {
        const StateCodesArgs round{vectors + n * stride, codes_ + n * room, hidden,
                                   s_.codes->state_scale};
        s_.codes->kernels.round(&round);
      }
      multiply_codes(gate == 0 ? kRowsOfState : kRowsOfReset, gate * hidden,
                     {.rows = count * hidden,
                      .pieces = layout.pieces(hidden),
                      .x_stride = room,
                      .vectors = count_,
                      .out = from_state_ + gate * hidden});
    }

    void multiply_inputs(s64 begin, s64 end, s64 length, s64 n) const noexcept {
      if (s_.codes) return multiply_input_codes(begin, end, length, n);
      const s64 rows = s_.rows();
      const f32* bias = s_.operand(step_, kRecB);
      const s64 stride = s_.g.x_at(1, 0) - s_.g.x_at(0, 0);
      const RowsByVectorsArgs args{
          s_.operand(step_, kRecW) + d_ * rows * s_.g.input,
          bias == nullptr ? nullptr : bias + d_ * 2 * rows,
          rows,
          s_.g.input,
          s_.operand(step_, kRecX) + s_.g.x_at(time_of(begin, length), first_ + n),
          backwards_ ? -stride : stride,
          end - begin,
          from_input_ + n * kStepsAtOnce * rows,
          rows};
      s_.multiply(&args);
    }

    // The rows of `count` gates from `gate` on, by vectors that lie `stride` apart.
    void multiply_states(s64 gate, s64 count, const f32* vectors, s64 stride) const noexcept {
      if (s_.codes) return multiply_state_codes(gate, count, vectors, stride);
      const s64 rows = s_.rows(), hidden = s_.g.hidden;
      const f32* bias = s_.operand(step_, kRecB);
      const RowsByVectorsArgs args{
          s_.operand(step_, kRecR) + (d_ * rows + gate * hidden) * hidden,
          bias == nullptr ? nullptr : bias + (d_ * 2 + 1) * rows + gate * hidden,
          count * hidden,
          hidden,
          vectors,
          stride,
          count_,
          from_state_ + gate * hidden,
          rows};
      s_.multiply(&args);
    }

    const RecurrentStep& s_;
    const StepArgs& step_;
    const s64 d_, first_, count_;
    const bool backwards_;
    f32 *const from_input_, *const from_state_, *const h_, *const c_;
    s32* const codes_;  // what is multiplied: of some steps' inputs, or of the states
  };
};

// Constant lengths, unless all are the whole; `reason` says where one is none.
inline std::vector<s64> constant_lengths(const LowerRequest& request, const RecurrentGeometry& g,
                                         std::string& reason) {
  const Tensor* lengths = request.constant(kRecLengths);
  if (lengths == nullptr) return {};
  std::vector<s64> values;
  if (lengths->dtype() == Dtype::s32) {
    values.assign(lengths->as<s32>().begin(), lengths->as<s32>().end());
  } else {
    values.assign(lengths->as<s64>().begin(), lengths->as<s64>().end());
  }
  for (s64 value : values) {
    if (value < 0 || value > g.steps) reason = "a sequence is longer than the input";
  }
  if (std::ranges::all_of(values, [&](s64 value) { return value == g.steps; })) values.clear();
  return values;
}

inline s64 sequences_together(const RecurrentStep& step, int threads) {
  if (!step.lengths.empty() || step.length) return 1;
  const s64 shared = (step.g.batch * step.g.directions + threads - 1) / threads;
  return std::clamp<s64>(shared, 1, std::min(step.g.batch, kMostSequences));
}

inline Room room_of(const RecurrentStep& step) {
  constexpr s64 kLine = 16;
  Room room;
  room.from_state = step.together * kStepsAtOnce * step.rows();
  room.h = room.from_state + step.together * step.rows();
  room.c = room.h + step.together * step.g.hidden;
  room.codes = room.c + step.together * step.g.hidden;
  room.size = room.codes;
  if (step.codes) {
    const CodeLayout& layout = step.codes->kernels.layout;
    room.size += std::max(kStepsAtOnce * layout.room(step.g.input),
                          step.together * layout.room(step.g.hidden));
  }
  room.size = (room.size + kLine - 1) / kLine * kLine;
  return room;
}

// Sizes, operands that are constant, lengths; a reason where a run has to tell what the step needs.
inline std::string read_recurrence(const LowerRequest& request, RecurrentStep& step) {
  step.g =
      recurrent_geometry(request.node, request.inputs[kRecX].shape, request.inputs[kRecR].shape);
  std::string reason;
  step.lengths = constant_lengths(request, step.g, reason);
  if (request.has_input(kRecLengths) && request.constant(kRecLengths) == nullptr)
    step.length = request.inputs[kRecLengths].dtype;
  for (size_t i = 0; i < step.constants.size(); ++i) {
    step.reads[i] = request.has_input(i);
    if (const Tensor* constant = request.constant(i)) step.constants[i] = *constant;
  }
  for (size_t i = 0; i < request.node.outputs.size(); ++i)
    step.writes[i] = request.node.outputs[i] != kNoValue;
  step.together = sequences_together(step, request.target.threads);
  step.room = room_of(step);
  return reason;
}

inline Candidate recurrent_candidate(const LowerRequest& request, const RecurrentStep& step) {
  Candidate candidate;
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs.assign(request.outputs.size(), Layout::linear);
  candidate.holds = request.constants();
  candidate.workspace_bytes = step.room.size * request.target.threads * s64{sizeof(f32)};
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
