// SPDX-License-Identifier: Apache-2.0
// Add of integers of one shape: sums of codes that come in parts.
#include <algorithm>

#include "backends/host/queue.h"
#include "plan/offer.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;

// Modulo 2^n, as the definition.
template <class T>
struct AddStep {
  Tensor constants[2];  // empty where a run brings the operand
  s64 count;

  void operator()(const StepArgs& step) const noexcept {
    const T* operands[2];
    for (size_t i = 0; i < 2; ++i)
      operands[i] = reinterpret_cast<const T*>(constants[i] ? constants[i].data() : step.inputs[i]);
    T* dst = reinterpret_cast<T*>(step.outputs[0]);
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) dst[i] = operands[0][i] + operands[1][i];
    };
    count < kSerial ? body(0, count, 0) : pool_of(step).parallel_for(count, body);
  }
};

template <class T>
RunStep step_of(const LowerRequest& request) {
  AddStep<T> step{{}, request.outputs[0].shape.elements()};
  for (size_t i = 0; i < 2; ++i) {
    if (const Tensor* constant = request.constant(i)) step.constants[i] = *constant;
  }
  return step;
}

}  // namespace

Offer lower_i_add(const LowerRequest& request) {
  const TensorType &a = request.inputs[0], &b = request.inputs[1];
  if (a.dtype != Dtype::s32 && a.dtype != Dtype::s64) return Reject{"it adds neither s32 nor s64"};
  if (a.shape != b.shape) return Reject{"an operand is broadcast"};
  Candidate candidate;
  candidate.kernel = "add_integers";
  candidate.inputs.assign(2, Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = request.constants();
  candidate.bind = [step = a.dtype == Dtype::s32 ? step_of<u32>(request) : step_of<u64>(request)](
                       const BindArgs&) { return step; };
  return candidate;
}

}  // namespace octet
