// SPDX-License-Identifier: Apache-2.0
// QLSTM, QGRU and QRNN: products of codes, gates and states of reals.
#include <fmt/format.h>

#include <utility>

#include "backends/cpu/lower/recurrent_step.h"
#include "backends/cpu/lower/unit_rates.h"
#include "ops/attributes/recurrent.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/quantized/zero_points.h"

namespace octet {
namespace {

std::string reject(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty()) return reason;
  if (request.inputs[kRecX].dtype != Dtype::u8) return "the input codes are not u8";
  if (request.constant(kRecX) != nullptr) return "the input is a constant";
  for (size_t i : {size_t{kRecW}, size_t{kRecR}, size_t{kQRecMultipliers}}) {
    if (request.constant(i) == nullptr) return "the weights are not constant";
  }
  for (size_t i : {kRecB, kRecInitialH, kRecInitialC}) {
    if (request.has_input(i) && request.inputs[i].dtype != Dtype::f32)
      return "an operand is not f32";
  }
  if (request.inputs[kRecX].shape.elements() == 0 || request.inputs[kRecR].shape.elements() == 0)
    return "an operand is empty";
  const s32 zero_point = input_zero_point(request.node, kRecX);
  if (zero_point < 0 || zero_point > 255) return "the input's zero point is no code";
  // 32 bits hold as many products of u8 by s8.
  constexpr s64 kMostProducts = 65793;
  const s64 products = std::max(request.inputs[kRecW].shape[2], request.inputs[kRecR].shape[2]);
  if (products > kMostProducts) return "sums of so many products of codes may pass 32 bits";
  return {};
}

// Some rows of weights, of which `count` codes follow each other.
struct RowsOfWeights {
  const s8* codes;
  s64 rows, count;
  s32 zero_point;  // of what they multiply
};

template <class T>
void pack_into(const RowsOfWeights& from, const CodeLayout& layout, std::span<T> to) {
  const s64 pieces = layout.pieces(from.count);
  for (s64 row = 0; row < from.rows; ++row) {
    for (s64 i = 0; i < from.count; ++i) {
      const s64 piece = (row / layout.lanes * pieces + i / layout.piece) * layout.lanes;
      to[static_cast<size_t>((piece + row % layout.lanes) * layout.piece + i % layout.piece)] =
          from.codes[row * from.count + i];
    }
  }
}

PackedRows pack(const RowsOfWeights& from, const CodeLayout& layout) {
  const s64 rows = layout.blocks(from.rows) * layout.lanes;
  PackedRows packed{Tensor(layout.piece == 4 ? Dtype::s8 : Dtype::s16,
                           Shape{rows, layout.pieces(from.count) * layout.piece}),
                    Tensor(Dtype::s32, Shape{rows})};
  layout.piece == 4 ? pack_into(from, layout, packed.weights.mutable_as<s8>())
                    : pack_into(from, layout, packed.weights.mutable_as<s16>());
  for (s64 row = 0; row < from.rows; ++row) {
    s32 sum = 0;
    for (s64 i = 0; i < from.count; ++i) sum += from.codes[row * from.count + i];
    packed.starts.mutable_as<s32>()[static_cast<size_t>(row)] = -sum * from.zero_point;
  }
  return packed;
}

PackedRecurrence pack_all(const RecurrentStep& step, const Tensor& w, const Tensor& r,
                          s32 zero_point) {
  const s64 rows = step.rows(), hidden = step.g.hidden, first = step.gates_at_once() * hidden;
  const CodeLayout& layout = step.codes->kernels.layout;
  PackedRecurrence all;
  for (s64 d = 0; d < step.g.directions; ++d) {
    const s8* of_x = w.as<s8>().data() + d * rows * step.g.input;
    const s8* of_state = r.as<s8>().data() + d * rows * hidden;
    all.push_back({pack({of_x, rows, step.g.input, zero_point}, layout),
                   pack({of_state, first, hidden, kS8ToU8}, layout),
                   pack({of_state + first * hidden, rows - first, hidden, kS8ToU8}, layout)});
  }
  return all;
}

// Weights are held packed.
void set_steps(Candidate& candidate, RecurrentStep step, s32 zero_point) {
  const Tensor w = std::exchange(step.constants[kRecW], {});
  const Tensor r = std::exchange(step.constants[kRecR], {});
  candidate.prepare = [step, w, r, zero_point](const BindArgs&) {
    const std::string key = fmt::format(
        "recurrent in rows of {}, {} of {} gates first, zero point {}",
        step.codes->kernels.layout.lanes, step.gates_at_once(), step.cells.gates, zero_point);
    return std::vector<Preparation>{preparation<PackedRecurrence>(
        key, {w, r}, [=] { return pack_all(step, w, r, zero_point); })};
  };
  candidate.bind = [step](const BindArgs& bind) -> RunStep {
    RecurrentStep bound = step;
    bound.codes->packed = bind.prepared_as<PackedRecurrence>();
    return bound;
  };
}

Offer offer(const LowerRequest& request, const RecurrentCells& cells) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const Isa isa = isa_of(request.target);
  RecurrentStep step;
  step.cells = cells;
  step.codes = {isa.has(Isa::neon)   ? kRecurrentCodesNeon
                : isa.has(Isa::vnni) ? kRecurrentCodesVnni
                                     : kRecurrentCodesAvx2,
                *request.constant(kQRecMultipliers), state_scale_of(request.node)};
  if (std::string reason = read_recurrence(request, step); !reason.empty()) return Reject{reason};
  Candidate candidate = recurrent_candidate(request, step);
  candidate.kernel = kernel_name("u8s8", "recurrent", isa);
  candidate.macs_per_cycle = code_unit_rate(isa.common(Isa::vnni.with(Isa::neon)));
  set_steps(candidate, std::move(step), input_zero_point(request.node, kRecX));
  return candidate;
}

template <class Args>
RecurrentFunction<Args> cell_for(const LowerRequest& request, const LevelFunctions<Args>& kernel) {
  return kernel_for(kernel, isa_of(request.target));
}

}  // namespace

Offer lower_q_lstm(const LowerRequest& request) {
  return offer(request, {4, cell_for(request, kLstmCell), nullptr});
}

Offer lower_q_gru(const LowerRequest& request) {
  if (attribute_of<&RecurrentShapeAttributes::linear_before_reset>(request.node))
    return offer(request, {3, cell_for(request, kGruLinearCell), nullptr});
  return offer(request, {3, cell_for(request, kGruGates), cell_for(request, kGruFinish)});
}

Offer lower_q_rnn(const LowerRequest& request) {
  return offer(request, {1, cell_for(request, kRnnTanhCell), nullptr});
}

}  // namespace octet
