// SPDX-License-Identifier: Apache-2.0
// Interpolate and QInterpolate, and Resize that computes: rows of input become one row of reals, and that a row of output.
#include "backends/cpu/kernels/float/interpolate.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/cpu/lower/resize_request.h"
#include "backends/host/queue.h"
#include "ops/attributes/sampling.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr s64 kSerial = 4096;      // fewer elements cost less than waking a thread
constexpr s64 kMostTaps = 256;     // of a row; antialiased windows may be longer
constexpr s64 kMostRow = 1 << 22;  // elements that a thread keeps

// Both layouts are [outer][height][width][inner] with the two inner axes resized.
struct Plane {
  s64 outer = 1, inner = 1;
  ResizeAxis rows, columns;
};

struct InterpolateStep {
  void (*sum_rows)(const InterpolateRowsArgs*) = nullptr;
  void (*sum_pixels)(const InterpolatePixelsArgs*) = nullptr;
  Plane plane = {};
  bool codes = false;
  Epilogue epilogue = {};
  f32 multiplier = 1.0f;
  std::vector<int> index = {};    // of columns: [taps][out]
  std::vector<f32> weights = {};  // the same

  s64 row_elements() const { return plane.columns.in * plane.inner; }
  s64 thread_bytes() const { return (row_elements() * 4 + 63) / 64 * 64; }

  // One output row from `image`, through `buffer`.
  void row(const std::byte* image, s64 y, std::byte* out, f32* buffer) const noexcept {
    const ResizeAxis& axis = plane.rows;
    const s64 taps = axis.identity ? 0 : axis.taps;
    const f32* reals[kMostTaps];
    const u8* code_rows[kMostTaps];
    for (s64 k = 0; k < std::max<s64>(taps, 1); ++k) {
      const s64 from = taps == 0 ? y : axis.index[static_cast<size_t>(y * taps + k)];
      reals[k] = reinterpret_cast<const f32*>(image) + from * row_elements();
      code_rows[k] = reinterpret_cast<const u8*>(image) + from * row_elements();
    }
    const InterpolateRowsArgs sums{codes ? nullptr : reals,
                                   codes ? code_rows : nullptr,
                                   taps == 0 ? nullptr : axis.weight.data() + y * taps,
                                   taps,
                                   row_elements(),
                                   static_cast<f32>(epilogue.zero_point(0)),
                                   buffer};
    sum_rows(&sums);
    const auto zero = static_cast<f32>(epilogue.range.zero_point);
    const InterpolatePixelsArgs pixels{buffer,
                                       index.data(),
                                       weights.data(),
                                       plane.columns.identity ? 0 : plane.columns.taps,
                                       plane.columns.out,
                                       plane.inner,
                                       codes ? nullptr : reinterpret_cast<f32*>(out),
                                       codes ? reinterpret_cast<u8*>(out) : nullptr,
                                       multiplier,
                                       zero,
                                       static_cast<f32>(epilogue.range.lo) - zero,
                                       static_cast<f32>(epilogue.range.hi) - zero};
    sum_pixels(&pixels);
  }

  void operator()(const StepArgs& step) const noexcept {
    const s64 element = codes ? 1 : 4, height = plane.rows.out;
    const s64 in_image = element * plane.rows.in * row_elements();
    const s64 out_row = element * plane.columns.out * plane.inner;
    const auto body = [&](s64 begin, s64 end, int thread) {
      f32* buffer = reinterpret_cast<f32*>(step.workspace + thread * thread_bytes());
      for (s64 i = begin; i < end; ++i)
        row(step.inputs[0] + i / height * in_image, i % height, step.outputs[0] + i * out_row,
            buffer);
    };
    const s64 rows = plane.outer * height;
    if (rows * out_row < kSerial * element) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

ResizeAxis unchanged(s64 length) {
  ResizeAxis axis;
  axis.in = axis.out = length;
  return axis;
}

// The two neighbouring axes that are resized, of an image in nhwc or of a value as it lies; empty: they are that.
std::string read_plane(const ResizeGeometry& geometry, const Shape& input, Layout layout,
                       Plane& plane) {
  std::vector<ResizeAxis> axes = geometry.axes;
  if (layout == Layout::nhwc) std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  size_t last = axes.size();
  while (last > 0 && axes[last - 1].identity) --last;
  if (axes.empty()) return "it has no axes";
  if (last == 0) last = axes.size();  // none is resized: a copy, or other codes
  plane.inner = plane.outer = 1;
  for (size_t i = last; i < axes.size(); ++i) plane.inner *= axes[i].in;
  plane.columns = axes[last - 1];
  plane.rows = last > 1 ? axes[last - 2] : unchanged(1);
  for (size_t i = 0; i + 2 < last; ++i) {
    if (!axes[i].identity) return "more than two neighbouring axes are resized";
    plane.outer *= axes[i].in;
  }
  for (const ResizeAxis* axis : {&plane.rows, &plane.columns}) {
    if (!axis->identity && axis->weight.empty()) return "the mode is nearest";
    if (!axis->outside.empty()) return "it crops";
    if (axis->in < 1 || axis->out < 1) return "an axis is empty";
  }
  if (plane.rows.taps > kMostTaps) return "more than 256 rows make one";
  if (plane.columns.in * plane.inner > kMostRow || input.elements() == 0)
    return "a row is longer than 2^22 elements";
  return {};
}

// The order that registers of pixels read.
void set_columns(InterpolateStep& step) {
  const ResizeAxis& axis = step.plane.columns;
  if (axis.identity) return;
  const s64 count = axis.taps * axis.out;
  step.index.resize(static_cast<size_t>(count));
  step.weights.resize(static_cast<size_t>(count));
  for (s64 at = 0; at < count; ++at) {
    const auto from = static_cast<size_t>(at % axis.out * axis.taps + at / axis.out);
    step.index[static_cast<size_t>(at)] = static_cast<int>(axis.index[from]);
    step.weights[static_cast<size_t>(at)] = axis.weight[from];
  }
}

Offer candidate_for(const LowerRequest& request, InterpolateStep step, Layout layout) {
  ResizeGeometry geometry;
  if (std::string reason = read_resize(request, geometry); !reason.empty()) return Reject{reason};
  if (geometry.nearest) return Reject{"the mode is nearest"};
  const Shape& input = request.inputs[0].shape;
  if (std::string reason = read_plane(geometry, input, layout, step.plane); !reason.empty())
    return Reject{reason};
  step.sum_rows = kernel_for(kInterpolateRows, isa_of(request.target));
  step.sum_pixels = kernel_for(kInterpolatePixels, isa_of(request.target));
  set_columns(step);
  Candidate candidate;
  candidate.kernel = kernel_name(step.codes ? "u8" : "f32", "interpolate", isa_of(request.target));
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.inputs[0] = layout;
  candidate.outputs = {layout};
  candidate.holds = request.constants();
  candidate.holds[0] = false;
  candidate.workspace_bytes = request.target.threads * step.thread_bytes();
  auto shared = std::make_shared<const InterpolateStep>(std::move(step));
  candidate.bind = [shared](const BindArgs&) -> RunStep {
    return [shared](const StepArgs& args) { (*shared)(args); };
  };
  return candidate;
}

}  // namespace

Offer lower_f_interpolate(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty())
    return Reject{reason};
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  return candidate_for(request, {.codes = false}, common_layout(request));
}

Offer lower_q_interpolate(const LowerRequest& request) {
  if (std::string reason = vectors_reject(isa_of(request.target)); !reason.empty())
    return Reject{reason};
  if (request.inputs[0].dtype != Dtype::u8) return Reject{"the input codes are not u8"};
  const Epilogue epilogue = epilogue_of(request.node);
  if (epilogue.output_dtype != Dtype::u8) return Reject{"the output codes are not u8"};
  const bool image = request.inputs[0].shape.rank() == 4;
  return candidate_for(
      request,
      {.codes = true,
       .epilogue = epilogue,
       .multiplier = attribute_of<&QInterpolateAttributes::multiplier>(request.node)},
      image ? Layout::nhwc : Layout::linear);
}

}  // namespace octet
