// SPDX-License-Identifier: Apache-2.0
// QInterpolate, Interpolate and Resize that computes, of the two last axes of an image: the kernel of this folder.
#include <limits>

#include "backends/cpu/lower/resize_request.h"
#include "backends/cuda/families/interpolate/spec.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/element_type.h"
#include "backends/cuda/lower/product.h"
#include "ops/attributes/sampling.h"

namespace octet::cuda {
namespace {

struct InterpolateStep {
  TensorType x, y;
  ResizeAxis rows, columns;
  bool codes = false;
  s32 zero_point = 0;
  f32 multiplier = 1.0f;  // of codes
  CodeEndSpec end{};

  bool nhwc(const BindArgs& bind) const { return bind.inputs[0].layout == Layout::nhwc; }
};

std::string read(const LowerRequest& request, InterpolateStep& step) {
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  constexpr s64 kMostTaps = 1024;
  if (request.constant(0) != nullptr) return "the input is a constant";
  step.x = request.inputs[0];
  step.y = request.outputs[0];
  if (step.x.shape.rank() != 4) return "the input is not an image";
  if (step.x.shape.elements() == 0 || step.y.shape.elements() == 0)
    return "there is nothing to compute";
  if (step.x.shape[1] > kMost) return "there are 2^31 channels";
  ResizeGeometry geometry;
  if (std::string reason = read_resize(request, geometry); !reason.empty()) return reason;
  if (geometry.nearest) return "the mode is nearest";
  if (!geometry.axes[0].identity || !geometry.axes[1].identity)
    return "images or channels are resized";
  for (const ResizeAxis& axis : geometry.axes) {
    if (!axis.outside.empty()) return "it crops";
  }
  step.rows = geometry.axes[2];
  step.columns = geometry.axes[3];
  if (step.y.shape[2] * step.y.shape[3] > kMost) return "an image has more than 2^31 pixels";
  if (step.rows.taps * step.columns.taps > kMostTaps) return "more than 1024 pixels make one";
  return {};
}

s64 taps_of(const ResizeAxis& axis) { return axis.identity ? 0 : axis.taps; }

// Images [N][H][W][C], or [N * C][H][W][1].
struct Planes {
  s64 images, inner;
  PixelStrides x, y;
};

Planes planes_of(const InterpolateStep& step, const BindArgs& bind) {
  const Shape &x = step.x.shape, &y = step.y.shape;
  if (step.nhwc(bind))
    return {x[0], x[1], pixel_strides(x, bind.inputs[0]), pixel_strides(y, bind.outputs[0])};
  return {x[0] * x[1], 1, {x[2] * x[3], x[3], 1}, {y[2] * y[3], y[3], 1}};
}

// An image that is made much larger has many rows of the same pixels; few threads are worse than pixels that are read again.
s32 rows_of(const CudaDevice& device, const InterpolateStep& step, interpolate::Spec spec) {
  constexpr s32 kRows = 8;
  constexpr s64 kLarger = 4, kThreadsOfMultiprocessor = 2048;
  if (!keeps_taps(spec) || step.y.shape[2] < kLarger * step.x.shape[2]) return 1;
  spec.rows = kRows;
  return count(spec) < device.chip().multiprocessors * kThreadsOfMultiprocessor ? 1 : kRows;
}

Launch make_launch(const CudaDevice& device, const InterpolateStep& step, const BindArgs& bind) {
  const Planes planes = planes_of(step, bind);
  const PixelStrides &x = planes.x, &y = planes.y;
  const s64 in = static_cast<s64>(dtype_bytes(step.x.dtype));
  const s64 out = static_cast<s64>(dtype_bytes(step.y.dtype));
  const s64 vector = common_power(step.codes ? 8 : 4,
                                  {planes.inner, x.image, x.row, x.pixel, y.image, y.row, y.pixel,
                                   bind.input_offset(0) / in, bind.output_offset(0) / out});
  interpolate::Spec spec{.in = element_type(step.x.dtype),
                         .out = element_type(step.y.dtype),
                         .codes = step.codes,
                         .zero_point = step.zero_point,
                         .multiplier = bits_of(step.multiplier),
                         .end = step.end,
                         .images = planes.images,
                         .out_h = field_of(step.y.shape[2]),
                         .out_w = field_of(step.y.shape[3]),
                         .inner = field_of(planes.inner),
                         .vector = field_of(vector),
                         .rows = 1,
                         .x = x,
                         .y = y,
                         .row_taps = field_of(taps_of(step.rows)),
                         .column_taps = field_of(taps_of(step.columns))};
  spec.rows = rows_of(device, step, spec);
  return {.source = source_of("interpolate", spec),
          .shape = blocks_for(device, count(spec), interpolate::kThreads)};
}

std::vector<BlobRecipe> blobs_of(const InterpolateStep& step) {
  std::vector<BlobRecipe> blobs;
  for (const ResizeAxis* axis : {&step.rows, &step.columns}) {
    const std::vector<s32> index(axis->index.begin(), axis->index.end());
    const std::vector<f32> weight = axis->weight;
    if (axis->identity) continue;
    blobs.push_back({"", {}, [index] { return bytes_of<s32>(index); }});
    blobs.push_back({"", {}, [weight] { return bytes_of<f32>(weight); }});
  }
  return blobs;
}

interpolate::Params parameters(const InterpolateStep& step, const StepData& data) {
  interpolate::Params p{};
  p.x = data.input(0);
  p.y = data.output();
  size_t blob = 0;
  if (!step.rows.identity) {
    p.rows = data.blob<s32>(blob++);
    p.row_weights = data.blob<f32>(blob++);
  }
  if (!step.columns.identity) {
    p.columns = data.blob<s32>(blob++);
    p.column_weights = data.blob<f32>(blob++);
  }
  return p;
}

Offer candidate_for(const LowerRequest& request, const char* kernel, Layout layout,
                    const InterpolateStep& step) {
  Candidate candidate = candidate_of(request, kernel, Layout::linear);
  candidate.inputs[0] = candidate.outputs[0] = layout;
  candidate.strided = true;
  const CudaDevice& device = device_of(request);
  set_step(candidate, device,
           {.make_launch = [&device,
                            step](const BindArgs& bind) { return make_launch(device, step, bind); },
            .recipes = [step](const BindArgs&) { return blobs_of(step); }},
           [step](const StepData& data) { return parameters(step, data); });
  return candidate;
}

}  // namespace

Offer lower_interpolate(const LowerRequest& request) {
  InterpolateStep step;
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  // Of channels that no access takes together planes are better: an image that becomes much larger is turned before it, as the smaller one.
  constexpr s64 kTogether = 4, kLarger = 4;
  const bool turned = step.x.shape[1] % kTogether != 0 &&
                      step.y.shape.elements() >= kLarger * step.x.shape.elements();
  const Layout layout = turned ? Layout::linear : common_layout(request);
  return candidate_for(request, "interpolate", layout, step);
}

Offer lower_interpolate_codes(const LowerRequest& request) {
  InterpolateStep step;
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  const Epilogue epilogue = epilogue_of(request.node);
  step.codes = true;
  step.zero_point = epilogue.zero_point(0);
  step.multiplier = attribute_of<&QInterpolateAttributes::multiplier>(request.node);
  step.end = code_end_spec(epilogue);
  return candidate_for(request, "interpolate_codes", Layout::nhwc, step);
}

}  // namespace octet::cuda
