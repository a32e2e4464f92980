// SPDX-License-Identifier: Apache-2.0
// f32 LSTM, GRU and RNN with the functions that they have by default. Threads share out directions and sequences; each walks its sequences
// side by side, so that rows of weights serve all of them, and multiplies some steps' inputs at once, so that they serve these too.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/recurrent.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"
#include "ops/shared/recurrent.h"

namespace octet {
namespace {

constexpr s64 kStepsAtOnce = 16;
constexpr s64 kMostSequences = 8;  // of one thread, side by side

template <class Args>
using Kernel = void (*)(const Args*);

struct Cells {
  s64 gates = 0;
  Kernel<CellArgs> cell = nullptr;    // from all sums
  Kernel<CellArgs> finish = nullptr;  // of a GRU whose third sums need the gates first
};

// Where a thread keeps what it works on, in elements from the beginning of its part of the workspace.
struct Room {
  s64 from_state = 0, h = 0, c = 0, size = 0;
};

struct RecurrentStep {
  RecurrentGeometry g;
  Cells cells;
  Kernel<RowsByVectorsArgs> multiply = nullptr;
  std::array<Tensor, kRecPeepholes> constants;  // empty where a run brings the operand
  std::array<bool, kRecPeepholes> reads{};      // the inputs that the node has
  std::array<bool, 3> writes{};                 // y, the last h, the last c
  std::vector<s64> lengths;                     // of the sequences; empty: all steps
  s64 together = 1;                             // sequences of one item
  Room room;

  s64 rows() const { return cells.gates * g.hidden; }
  s64 parts() const { return (g.batch + together - 1) / together; }

  // Null where the node leaves it out.
  const f32* operand(const StepArgs& step, size_t i) const {
    if (!reads[i]) return nullptr;
    return reinterpret_cast<const f32*>(constants[i] ? constants[i].data() : step.inputs[i]);
  }

  void operator()(const StepArgs& step) const noexcept {
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
          c_(from_input + s.room.c) {}

    void run() const noexcept {
      for (s64 n = 0; n < count_; ++n) {
        load(kRecInitialH, h_, n);
        load(kRecInitialC, c_, n);
      }
      // Sequences of several lengths are walked one by one.
      const s64 length = s_.lengths.empty() ? s_.g.steps : s_.lengths[static_cast<size_t>(first_)];
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
        multiply_states(0, s_.cells.finish == nullptr ? s_.cells.gates : 2, h_, s_.g.hidden);
        run_cell(s_.cells.cell, t - begin);
        if (s_.cells.finish != nullptr) {
          multiply_states(2, 1, from_state_ + s_.g.hidden, s_.rows());
          run_cell(s_.cells.finish, t - begin);
        }
        for (s64 n = 0; n < count_ && s_.writes[0]; ++n)
          std::copy_n(h_ + n * s_.g.hidden, s_.g.hidden, y(time_of(t, length), n));
      }
    }

    void run_cell(Kernel<CellArgs> cell, s64 t) const noexcept {
      const s64 rows = s_.rows(), hidden = s_.g.hidden;
      for (s64 n = 0; n < count_; ++n) {
        const CellArgs args{hidden, from_input_ + (n * kStepsAtOnce + t) * rows,
                            from_state_ + n * rows, h_ + n * hidden, c_ + n * hidden};
        cell(&args);
      }
    }

    void multiply_inputs(s64 begin, s64 end, s64 length, s64 n) const noexcept {
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
  };
};

bool same_name(const std::string& a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    const auto lower = [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return lower(x) == lower(y);
  });
}

// Whether every direction has these functions.
bool has_functions(const Node& node, std::initializer_list<std::string_view> wanted) {
  const auto* value = node.attrs.find("activations");
  if (value == nullptr) return true;
  const auto* given = std::get_if<std::vector<std::string>>(value);
  if (given == nullptr) return false;
  for (size_t i = 0; i < given->size(); ++i) {
    if (!same_name((*given)[i], wanted.begin()[i % wanted.size()])) return false;
  }
  return true;
}

// Nothing where there is no kernel for the node's functions.
std::optional<Cells> cells_of(const Node& node, Isa isa) {
  if (node.op->name == "LSTM") {
    if (!has_functions(node, {"Sigmoid", "Tanh", "Tanh"})) return {};
    return Cells{4, kernel_for(kLstmCell, isa), nullptr};
  }
  if (node.op->name == "GRU") {
    if (!has_functions(node, {"Sigmoid", "Tanh"})) return {};
    if (node.attrs.i("linear_before_reset", 0) != 0)
      return Cells{3, kernel_for(kGruLinearCell, isa), nullptr};
    return Cells{3, kernel_for(kGruGates, isa), kernel_for(kGruFinish, isa)};
  }
  if (has_functions(node, {"Tanh"})) return Cells{1, kernel_for(kRnnTanhCell, isa), nullptr};
  if (has_functions(node, {"Relu"})) return Cells{1, kernel_for(kRnnReluCell, isa), nullptr};
  return {};
}

// The lengths where they are constant and lie within the steps; `reason` says why not.
std::vector<s64> constant_lengths(const LowerRequest& request, const RecurrentGeometry& g,
                                  std::string& reason) {
  if (!request.has_input(kRecLengths)) return {};
  const Tensor* lengths = request.constant(kRecLengths);
  if (lengths == nullptr) {
    reason = "only a run tells the lengths of the sequences";
    return {};
  }
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

std::string reject(const LowerRequest& request) {
  if (isa_of(request.target) == Isa::none) return "the instruction set is capped below AVX2";
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (i != kRecLengths && request.has_input(i) && request.inputs[i].dtype != Dtype::f32)
      return "an operand is not f32";
  }
  const Attrs& attrs = request.node.attrs;
  if (request.has_input(kRecPeepholes)) return "there are peepholes";
  if (attrs.f("clip", 0.0f) > 0.0f) return "the sums are clipped";
  if (attrs.i("input_forget", 0) != 0) return "the input gate is the forget gate too";
  if (request.inputs[kRecX].shape.elements() == 0 || request.inputs[kRecR].shape.elements() == 0)
    return "an operand is empty";
  return {};
}

s64 sequences_together(const RecurrentStep& step, int threads) {
  if (!step.lengths.empty()) return 1;
  const s64 shared = (step.g.batch * step.g.directions + threads - 1) / threads;
  return std::clamp<s64>(shared, 1, std::min(step.g.batch, kMostSequences));
}

Room room_of(const RecurrentStep& step) {
  constexpr s64 kLine = 16;
  Room room;
  room.from_state = step.together * kStepsAtOnce * step.rows();
  room.h = room.from_state + step.together * step.rows();
  room.c = room.h + step.together * step.g.hidden;
  room.size = (room.c + step.together * step.g.hidden + kLine - 1) / kLine * kLine;
  return room;
}

}  // namespace

Offer lower_f_recurrent(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const std::optional<Cells> cells = cells_of(request.node, isa_of(request.target));
  if (!cells) return Reject{"its functions are not those of the kernel"};
  RecurrentStep step;
  step.g =
      recurrent_geometry(request.node, request.inputs[kRecX].shape, request.inputs[kRecR].shape);
  step.cells = *cells;
  step.multiply = kernel_for(kRowsByVectors, isa_of(request.target));
  std::string reason;
  step.lengths = constant_lengths(request, step.g, reason);
  if (!reason.empty()) return Reject{reason};
  for (size_t i = 0; i < step.constants.size(); ++i) {
    step.reads[i] = request.has_input(i);
    if (const Tensor* constant = request.constant(i)) step.constants[i] = *constant;
  }
  for (size_t i = 0; i < request.node.outputs.size(); ++i)
    step.writes[i] = request.node.outputs[i] != kNoValue;
  step.together = sequences_together(step, request.target.threads);
  step.room = room_of(step);

  Candidate candidate;
  candidate.kernel = kernel_name("f32", "recurrent", isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs.assign(request.outputs.size(), Layout::linear);
  candidate.holds = request.constants();
  candidate.macs_per_cycle = real_unit_rate(isa_of(request.target));
  candidate.workspace_bytes = step.room.size * request.target.threads * s64{sizeof(f32)};
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
