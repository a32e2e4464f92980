// SPDX-License-Identifier: Apache-2.0
// QInterpolate, Interpolate and Resize that computes, of the two last axes of an image: kernels/interpolate.cu.
#include <limits>

#include "backends/cpu/lower/resize_request.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/product.h"
#include "backends/cuda/lower/walk.h"

namespace octet::cuda {
namespace {

struct InterpolateStep {
  TensorType x, y;
  ResizeAxis rows, columns;
  bool codes = false;
  s32 zero_point = 0;
  std::string finish = "v";

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

Launch make_launch(const CudaDevice& device, const InterpolateStep& step, const BindArgs& bind) {
  const Planes planes = planes_of(step, bind);
  const PixelStrides &x = planes.x, &y = planes.y;
  const s64 in = static_cast<s64>(dtype_bytes(step.x.dtype));
  const s64 out = static_cast<s64>(dtype_bytes(step.y.dtype));
  const s64 vector = common_power(step.codes ? 8 : 4,
                                  {planes.inner, x.image, x.row, x.pixel, y.image, y.row, y.pixel,
                                   bind.input_offset(0) / in, bind.output_offset(0) / out});
  const s64 count = planes.images * step.y.shape[2] * step.y.shape[3] * planes.inner / vector;
  Launch launch{.source = {"interpolate", {}}, .shape = blocks_for(device, count)};
  KernelSource& source = launch.source;
  source.set("ELEMENT", kernel_type(step.x.dtype)), source.set("OUT", kernel_type(step.y.dtype));
  source.set("CODES", s64{step.codes}), source.set("ZP", s64{step.zero_point});
  source.set("FINISH", step.finish);
  source.set("COUNT", count), source.set("INNER", planes.inner), source.set("VEC", vector);
  source.set("ACCESS_X", vector * in), source.set("ACCESS_Y", vector * out);
  source.set("OH", step.y.shape[2]), source.set("OW", step.y.shape[3]);
  set_strides(source, "X", x), set_strides(source, "Y", y);
  source.set("ROW_TAPS", taps_of(step.rows)), source.set("COLUMN_TAPS", taps_of(step.columns));
  constexpr s64 kUnrolled = 4;  // taps of one axis
  const s64 most = std::max(taps_of(step.rows), taps_of(step.columns));
  source.set("UNROLL", most <= kUnrolled ? kUnrolled : s64{1});
  return launch;
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

params::InterpolateParams parameters(const InterpolateStep& step, const StepData& data) {
  params::InterpolateParams p{};
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
  return candidate_for(request, "interpolate", common_layout(request), step);
}

Offer lower_interpolate_codes(const LowerRequest& request) {
  InterpolateStep step;
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  const Epilogue epilogue = epilogue_of(request.node);
  step.codes = true;
  step.zero_point = epilogue.zero_point(0);
  step.finish = code_text(
      epilogue,
      fmt::format("f32_mul(v, {})", exact_text(request.node.attrs.f("multiplier", 1.0f))));
  return candidate_for(request, "interpolate_codes", Layout::nhwc, step);
}

}  // namespace octet::cuda
