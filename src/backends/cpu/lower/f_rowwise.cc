// SPDX-License-Identifier: Apache-2.0
// f32 operators whose unit is a dense row: Softmax, LayerNormalization, RMSNormalization.
#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/rows.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/host/queue.h"
#include "ops/shared/axes.h"
#include "ops/shared/softmax.h"

namespace octet {
namespace {

// Fewer elements than this cost less than waking a thread.
constexpr s64 kSerial = 16384;

struct RowStep {
  void (*function)(const RowArgs*);
  s64 rows, count;
  Tensor scale, bias;
  f32 epsilon;

  void operator()(const StepArgs& step) const noexcept {
    const f32* src = f32_input(step, 0);
    f32* dst = f32_output(step, 0);
    const auto body = [&](s64 begin, s64 end, int) {
      const RowArgs args{src + begin * count,
                         dst + begin * count,
                         count,
                         reinterpret_cast<const f32*>(scale.data()),
                         reinterpret_cast<const f32*>(bias.data()),
                         epsilon,
                         end - begin};
      function(&args);
    };
    if (rows * count < kSerial) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

Candidate row_candidate(const LowerRequest& request, const FloatKernel<RowArgs>& kernel,
                        RowStep step) {
  step.function = kernel_for(kernel, isa_of(request.target));
  Candidate candidate;
  candidate.kernel = kernel_name("f32", kernel.name, isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.bind = [step](const BindArgs&) { return step; };
  return candidate;
}

}  // namespace

Offer lower_f_softmax(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  const Shape& shape = request.inputs[0].shape;
  const SoftmaxGeometry g = softmax_geometry(request.node, shape);
  if (g.inner != 1) return Reject{"the axis is not the last one"};
  const RowStep step{nullptr, shape.elements() == 0 ? 0 : g.outer, g.count, {}, {}, 0.0f};
  return row_candidate(request, kSoftmaxF32, step);
}

Offer lower_f_rms_norm(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  const Tensor* scale = request.constant(1);
  if (scale == nullptr) return Reject{"the scale is not constant"};
  const Shape& shape = request.inputs[0].shape;
  const int axis = normalize_axis(request.node.attrs.i("axis", -1), shape.rank());
  const s64 count = dims_product(shape, axis, shape.rank());
  const s64 rows = count == 0 ? 0 : shape.elements() / count;
  return row_candidate(request, kRmsNormF32,
                       {nullptr, rows, count, *scale, {}, request.node.attrs.f("epsilon", 1e-5f)});
}

Offer lower_f_layer_norm(const LowerRequest& request) {
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  if (request.outputs.size() != 1) return Reject{"the statistics are outputs too"};
  const Tensor* scale = request.constant(1);
  const Tensor* bias = request.constant(2);
  if (scale == nullptr || (request.has_input(2) && bias == nullptr)) {
    return Reject{"scale or bias is not constant"};
  }
  const Shape& shape = request.inputs[0].shape;
  const int axis = normalize_axis(request.node.attrs.i("axis", -1), shape.rank());
  const s64 count = dims_product(shape, axis, shape.rank());
  const s64 rows = count == 0 ? 0 : shape.elements() / count;
  return row_candidate(
      request, kLayerNormF32,
      {nullptr, rows, count, *scale, bias ? *bias : Tensor(Dtype::f32, Shape{count}),
       request.node.attrs.f("epsilon", 1e-5f)});
}

}  // namespace octet
