// SPDX-License-Identifier: Apache-2.0
// QSoftmax and QLayerNormalization: dense rows of codes to rows of codes.
#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/host/queue.h"
#include "ops/attributes/normalization.h"
#include "ops/quantized/code_rows.h"
#include "ops/shared/axes.h"
#include "ops/shared/layer_norm.h"
#include "ops/shared/softmax.h"

namespace octet {
namespace {

// Fewer elements than this cost less than waking a thread.
constexpr s64 kSerial = 16384;

struct CodeRowStep {
  void (*function)(const CodeRowArgs*);
  s64 rows, count;
  RowScales scales;
  s32 zero_x, zero_y;
  Tensor scale, bias;
  f32 epsilon;
  bool real;  // input 0 is

  s64 thread_bytes() const { return (code_rows_at_once(count) * count * 4 + 63) / 64 * 64; }

  void operator()(const StepArgs& step) const noexcept {
    const auto body = [&](s64 begin, s64 end, int thread) {
      const CodeRowArgs args{real ? nullptr : u8_input(step, 0) + begin * count,
                             real ? f32_input(step, 0) + begin * count : nullptr,
                             u8_output(step, 0) + begin * count,
                             count,
                             end - begin,
                             scales.x,
                             static_cast<f32>(zero_x),
                             scales.y,
                             static_cast<f32>(zero_y),
                             reinterpret_cast<const f32*>(scale.data()),
                             reinterpret_cast<const f32*>(bias.data()),
                             epsilon,
                             reinterpret_cast<f32*>(step.workspace + thread * thread_bytes())};
      function(&args);
    };
    if (rows * count < kSerial) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

std::string reject(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty()) return reason;
  if (request.constant(0) != nullptr) return "the input is a constant";
  const Dtype dtype = request.inputs[0].dtype;
  if (dtype != Dtype::u8 && dtype != Dtype::f32) return "the input codes are not u8";
  const Epilogue epilogue = epilogue_of(request.node);
  if (epilogue.output_dtype != Dtype::u8) return "the output codes are not u8";
  if (epilogue.range.lo != 0 || epilogue.range.hi != 255) return "the output is clamped";
  return {};
}

CodeRowStep step_of(const LowerRequest& request, const FloatKernel<CodeRowArgs>& kernel,
                    s64 count) {
  const Shape& shape = request.inputs[0].shape;
  const Epilogue epilogue = epilogue_of(request.node);
  return {kernel_for(kernel, isa_of(request.target)),
          count == 0 ? 0 : shape.elements() / count,
          count,
          row_scales(request.node),
          epilogue.zero_point(0),
          epilogue.range.zero_point,
          {},
          {},
          0.0f,
          request.inputs[0].dtype == Dtype::f32};
}

Candidate candidate_for(const LowerRequest& request, const FloatKernel<CodeRowArgs>& kernel,
                        const CodeRowStep& step) {
  Candidate candidate;
  candidate.kernel = kernel_name("u8", kernel.name, isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = request.constants();
  candidate.workspace_bytes = request.target.threads * step.thread_bytes();
  candidate.by_image = step.rows % std::max<s64>(request.inputs[0].shape[0], 1) == 0;
  candidate.bind = [step](const BindArgs&) { return step; };
  return candidate;
}

}  // namespace

Offer lower_q_softmax(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const SoftmaxGeometry g = softmax_geometry(request.node, request.inputs[0].shape);
  if (g.inner != 1) return Reject{"the axis is not the last one"};
  return candidate_for(request, kSoftmaxU8, step_of(request, kSoftmaxU8, g.count));
}

Offer lower_q_layer_norm(const LowerRequest& request) {
  if (std::string reason = reject(request); !reason.empty()) return Reject{reason};
  const Tensor* scale = request.constant(1);
  const Tensor* bias = request.constant(2);
  if (scale == nullptr || (request.has_input(2) && bias == nullptr)) {
    return Reject{"scale or bias is not constant"};
  }
  if (scale->dtype() != Dtype::f32 || (bias != nullptr && bias->dtype() != Dtype::f32))
    return Reject{"scale or bias is not f32"};
  const Shape& shape = request.inputs[0].shape;
  const s64 count = dims_product(shape, layer_norm_axis(request.node, shape), shape.rank());
  CodeRowStep step = step_of(request, kLayerNormU8, count);
  step.scale = *scale;
  step.bias = bias != nullptr ? *bias : Tensor(Dtype::f32, Shape{count});
  step.epsilon = attribute_of<&NormAttributes::epsilon>(request.node);
  return candidate_for(request, kLayerNormU8, step);
}

}  // namespace octet
