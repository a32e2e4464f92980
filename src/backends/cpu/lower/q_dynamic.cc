// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear: the range of the data, then codes over it.
#include <algorithm>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/quantize/quantize.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "core/reduce.h"
#include "core/rounding.h"

namespace octet {
namespace {

constexpr s64 kBlock = 4096;

// The sequence of roundings of the operator's reference.
void quantize_dynamically(const QuantizeKernel& kernel, s64 count, const StepArgs& args) {
  const f32* x = reinterpret_cast<const f32*>(args.inputs[0]);
  u8* y = u8_output(args, 0);
  const auto at = [x](s64 i) { return x[i]; };
  const f32 max = std::max(lane_max(count, at), 0.0f);
  const f32 min = std::min(lane_min(count, at), 0.0f);
  const f32 scale = max > min ? (max - min) / 255.0f : 1.0f;
  const s32 zero_point = rne(clamp_f32((0.0f - min) / scale, 0.0f, 255.0f));
  pool_of(args).parallel_for((count + kBlock - 1) / kBlock, [&](s64 begin, s64 end, int) {
    const s64 first = begin * kBlock, last = std::min(end * kBlock, count);
    kernel.run({x + first, y + first, last - first, scale, zero_point});
  });
  *reinterpret_cast<f32*>(args.outputs[1]) = scale;
  *u8_output(args, 2) = static_cast<u8>(zero_point);
}

}  // namespace

Offer lower_q_dynamic(const LowerRequest& request) {
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  for (ValueId id : request.node.outputs) {
    if (id == kNoValue) return Reject{"an output is omitted"};
  }
  const QuantizeKernel& kernel = best_kernel(kQuantizeKernels, isa_of(request.target));
  Candidate candidate = candidate_of(request, kernel.name, Layout::linear);
  const s64 count = request.inputs[0].shape.elements();
  candidate.bind = [&kernel, count](const BindArgs&) -> RunStep {
    return [&kernel, count](const StepArgs& args) { quantize_dynamically(kernel, count, args); };
  };
  return candidate;
}

}  // namespace octet
