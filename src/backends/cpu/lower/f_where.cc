// SPDX-License-Identifier: Apache-2.0
// Where between f32 values (masks of attention), with broadcasting, in linear order. It moves what it chooses, so the compiler's own
// vectors do.
#include <array>

#include "backends/cpu/device.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"

namespace octet {
namespace {

enum : size_t { kCondition, kX, kY };

// A row of the result; an operand that stands steps by 0.
struct ChoiceRow {
  const bool* condition;
  const f32* x;
  const f32* y;
  f32* dst;
  s64 count;
};

template <s64 kConditionStep, s64 kStepX, s64 kStepY>
void choose_row(const ChoiceRow& row) {
  for (s64 i = 0; i < row.count; ++i) {
    const f32 x = row.x[i * kStepX], y = row.y[i * kStepY];
    row.dst[i] = row.condition[i * kConditionStep] ? x : y;
  }
}

// By the steps of condition, x and y as bits.
constexpr void (*kChooseRow[])(const ChoiceRow&) = {
    choose_row<0, 0, 0>, choose_row<0, 0, 1>, choose_row<0, 1, 0>, choose_row<0, 1, 1>,
    choose_row<1, 0, 0>, choose_row<1, 0, 1>, choose_row<1, 1, 0>, choose_row<1, 1, 1>};

struct WhereStep {
  std::array<Tensor, 3> constants;  // empty where a run brings the operand
  Rows rows;                        // the output, then the inputs

  template <class T>
  const T* operand(const StepArgs& step, size_t i) const {
    return reinterpret_cast<const T*>(constants[i] ? constants[i].data() : step.inputs[i]);
  }

  void operator()(const StepArgs& step) const noexcept {
    const bool* condition = operand<bool>(step, kCondition);
    const f32 *x = operand<f32>(step, kX), *y = operand<f32>(step, kY);
    f32* dst = f32_output(step, 0);
    const auto choose = kChooseRow[rows.step(1) * 4 + rows.step(2) * 2 + rows.step(3)];
    rows.for_each(pool_of(step), [&](const Rows::Offsets& at, s64 count) {
      choose({condition + at[1], x + at[2], y + at[3], dst + at[0], count});
    });
  }
};

std::array<RowOperand, 4> operands_of(const LowerRequest& request) {
  return {{{request.outputs[0].shape, {}},
           {request.inputs[kCondition].shape, {}},
           {request.inputs[kX].shape, {}},
           {request.inputs[kY].shape, {}}}};
}

}  // namespace

Offer lower_f_where(const LowerRequest& request) {
  if (request.inputs[kX].dtype != Dtype::f32) return Reject{"only f32 values are chosen from"};
  const std::array<RowOperand, 4> operands = operands_of(request);
  if (!Rows::possible(operands)) return Reject{"an input steps by more than one element in a row"};
  WhereStep step{{}, Rows(operands)};
  Candidate candidate;
  candidate.kernel = "f32_where";
  candidate.inputs.assign(3, Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = request.constants();
  for (size_t i = 0; i < 3; ++i) {
    if (const Tensor* constant = request.constant(i)) step.constants[i] = *constant;
    if (i != kCondition && request.inputs[i].shape == request.outputs[0].shape)
      candidate.overwrites.push_back(i);
  }
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
