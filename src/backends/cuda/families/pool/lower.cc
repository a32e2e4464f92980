// SPDX-License-Identifier: Apache-2.0
// MaxPool, QAveragePool and AveragePool of images: the kernel of this folder.
#include "backends/cuda/families/pool_image/lower.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/families/pool/pool.h"
#include "backends/cuda/families/pool/spec.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/element_type.h"
#include "backends/cuda/lower/halves.h"
#include "ops/quantized/mean_scales.h"
#include "plan/chain.h"

namespace octet::cuda {

std::string read_pool(const LowerRequest& request, PoolStep& step) {
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (request.outputs.size() > 1) return "the positions of the maxima are wanted";
  step.x = request.inputs[0];
  step.y = request.outputs[0];
  if (step.x.shape.rank() != 4) return "the input is not an image";
  if (step.x.shape.elements() == 0 || step.y.shape.elements() == 0)
    return "there is nothing to compute";
  if (step.x.shape[1] > kMost) return "there are 2^31 channels";
  step.geometry = pool_geometry(request.node, step.x.shape);
  const Window& window = step.geometry.window;
  for (const WindowAxis& axis : window.axes) {
    if (axis.in > kMost / 4 || axis.stride > kMost / axis.out / 4 ||
        axis.dilation > kMost / axis.kernel / 4)
      return "an axis is longer than 2^29";
  }
  if (window.out_elements() > kMost) return "an image has more than 2^31 pixels";
  return {};
}

bool PoolStep::multiplier_varies() const {
  return std::ranges::any_of(multipliers, [&](f32 value) { return value != multipliers[0]; });
}

PoolWindow pool_window(const PoolStep& step) {
  const WindowAxis &h = step.geometry.window.h(), &w = step.geometry.window.w();
  return {.in_h = field_of(h.in),
          .in_w = field_of(w.in),
          .out_h = field_of(h.out),
          .out_w = field_of(w.out),
          .taps_h = field_of(h.kernel),
          .taps_w = field_of(w.kernel),
          .stride_h = field_of(h.stride),
          .stride_w = field_of(w.stride),
          .dilation_h = field_of(h.dilation),
          .dilation_w = field_of(w.dilation),
          .pad_top = field_of(h.pad_begin),
          .pad_left = field_of(w.pad_begin)};
}

Candidate pool_candidate(const LowerRequest& request, const char* kernel, const PoolStep& step) {
  Candidate candidate = candidate_of(request, kernel, Layout::nhwc);
  candidate.strided = candidate.writes_slices = true;
  candidate.cost =
      bytes_cost(static_cast<f64>(step.x.bytes() + step.y.bytes()), device_of(request).chip());
  return candidate;
}

namespace {

std::vector<f32> for_each_pixel(const PoolGeometry& geometry,
                                f32 (*make)(s64 divisor, const MeanScales&),
                                const MeanScales& scales) {
  std::vector<f32> values;
  for (s64 y = 0; y < geometry.window.h().out; ++y) {
    for (s64 x = 0; x < geometry.window.w().out; ++x)
      values.push_back(make(geometry.divisor(0, y, x), scales));
  }
  return values;
}

Launch make_launch(const CudaDevice& device, const PoolStep& step, const BindArgs& bind) {
  const s64 channels = step.geometry.channels;
  const s64 bytes = static_cast<s64>(dtype_bytes(step.x.dtype));
  const s64 y_bytes = static_cast<s64>(dtype_bytes(step.y.dtype));
  const PixelStrides x = pixel_strides(step.x.shape, bind.inputs[0]);
  const PixelStrides y = pixel_strides(step.y.shape, bind.outputs[0]);
  const s64 vector =
      common_power(16 / bytes, {channels, x.image, x.row, x.pixel, y.image, y.row, y.pixel,
                                bind.input_offset(0) / bytes, bind.output_offset(0) / y_bytes});
  const bool varies = step.multiplier_varies();
  const bool has_one = !varies && !step.multipliers.empty();
  const pool::Spec spec{.kind = step.kind,
                        .in = number_type(step.x.dtype),
                        .out = number_type(step.y.dtype),
                        .rounded = number_type(step.rounded),
                        .window = pool_window(step),
                        .images = step.geometry.batch,
                        .channels = field_of(channels),
                        .vector = field_of(vector),
                        .access = field_of(vector * bytes),
                        .x = x,
                        .y = y,
                        .zero_point = step.zero_point,
                        .multiplier_varies = varies,
                        .multiplier = bits_of(has_one ? step.multipliers[0] : 0.0f),
                        .end = step.end};
  return {.source = source_of("pool", spec),
          .shape = blocks_for(device, count(spec), pool::kThreads)};
}

Offer candidate_for(const LowerRequest& request, const char* kernel, PoolStep step) {
  Candidate candidate = pool_candidate(request, kernel, step);
  const CudaDevice& device = device_of(request);
  const bool varies = step.multiplier_varies();
  const std::vector<f32> multipliers = varies ? step.multipliers : std::vector<f32>{};
  set_step(
      candidate, device,
      {.make_launch = [&device,
                       step](const BindArgs& bind) { return make_launch(device, step, bind); },
       .recipes =
           [multipliers](const BindArgs&) {
             std::vector<BlobRecipe> blobs;
             if (!multipliers.empty())
               blobs.push_back({"", {}, [multipliers] { return bytes_of<f32>(multipliers); }});
             return blobs;
           }},
      [varies](const StepData& data) {
        return pool::Params{data.input(0), varies ? data.blob<f32>(0) : nullptr, data.output()};
      });
  return candidate;
}

}  // namespace

Offer lower_max_pool(const LowerRequest& request) {
  PoolStep step;
  const Dtype dtype = request.inputs[0].dtype;
  const bool real = dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
  const bool codes = dtype == Dtype::u8 || dtype == Dtype::s8;
  if (!real && !codes && dtype != Dtype::s32)
    return Reject{"the elements are neither codes nor f32, f16, bf16 or s32"};
  if (std::string reason = read_pool(request, step); !reason.empty()) return Reject{reason};
  step.kind = pool::Kind::largest;
  if (fits_pool_image(step)) return pool_image_candidate(request, step);
  return candidate_for(request, "max_pool", std::move(step));
}

Offer lower_average_codes(const LowerRequest& request) {
  PoolStep step;
  if (std::string reason = read_pool(request, step); !reason.empty()) return Reject{reason};
  constexpr s64 kMostTaps = 1 << 22;  // whose sums fit s32
  if (step.geometry.window.kernel_elements() > kMostTaps) return Reject{"the window is too large"};
  const Epilogue epilogue = epilogue_of(request.node);
  step.kind = pool::Kind::average_codes;
  step.zero_point = epilogue.zero_point(0);
  step.end = code_end_spec(epilogue);
  step.multipliers = for_each_pixel(
      step.geometry,
      [](s64 divisor, const MeanScales& scales) {
        return divisor == 0 ? 0.0f : scales.multiplier(divisor);
      },
      mean_scales(request.node));
  return candidate_for(request, "average_codes", std::move(step));
}

namespace {

// `pool` is the node itself, of f32, whose x and y may lie in 16 bits.
Offer average_of_reals(const LowerRequest& request, const LowerRequest& pool,
                       const HalfEnds& ends) {
  PoolStep step;
  if (pool.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (std::string reason = read_pool(pool, step); !reason.empty()) return Reject{reason};
  step.x.dtype = ends.x, step.y.dtype = ends.y, step.rounded = ends.rounded;
  step.multipliers = for_each_pixel(
      step.geometry, [](s64 divisor, const MeanScales&) { return static_cast<f32>(divisor); }, {});
  return candidate_for(request, "average_pool", std::move(step));
}

}  // namespace

Offer lower_average(const LowerRequest& request) { return average_of_reals(request, request, {}); }

Offer offer_half_average(const LowerRequest& request) {
  const HalfEnds ends = half_ends(request);
  return average_of_reals(request, part_request(request, ends.part), ends);
}

}  // namespace octet::cuda
