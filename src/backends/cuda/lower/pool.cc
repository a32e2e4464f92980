// SPDX-License-Identifier: Apache-2.0
// MaxPool, QAveragePool and AveragePool of images: kernels/pool.cu.
#include "ops/shared/pool.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/product.h"
#include "backends/cuda/lower/walk.h"
#include "core/divide.h"
#include "ops/quantized/mean_scales.h"

namespace octet::cuda {
namespace {

struct PoolStep {
  TensorType x, y;
  PoolGeometry geometry;
  bool max = false;
  bool code_sums = false;
  s32 zero_point = 0;
  std::string code = "0";
  std::vector<f32> multipliers{};  // of each output pixel; of reals: divisors
};

std::string read(const LowerRequest& request, PoolStep& step) {
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  if (request.constant(0) != nullptr) return "the input is a constant";
  if (request.outputs.size() > 1) return "the positions of the maxima are wanted";
  step.x = request.inputs[0];
  step.y = request.outputs[0];
  if (step.x.shape.rank() != 4) return "the input is not an image";
  if (step.x.shape.elements() == 0 || step.y.shape.elements() == 0)
    return "there is nothing to compute";
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

bool all_equal(const std::vector<f32>& values) {
  return std::ranges::all_of(values, [&](f32 value) { return value == values[0]; });
}

void set_window(KernelSource& source, const Window& window) {
  const WindowAxis &h = window.h(), &w = window.w();
  source.set("IH", h.in), source.set("IW", w.in);
  source.set("OH", h.out), source.set("OW", w.out);
  source.set("R", h.kernel), source.set("S", w.kernel);
  source.set("STRIDE_H", h.stride), source.set("STRIDE_W", w.stride);
  source.set("DIL_H", h.dilation), source.set("DIL_W", w.dilation);
  source.set("PAD_T", h.pad_begin), source.set("PAD_L", w.pad_begin);
  constexpr s64 kUnrolled = 32;  // taps
  source.set("UNROLL_S", w.kernel <= kUnrolled ? w.kernel : s64{1});
  source.set("UNROLL_R", window.kernel_elements() <= kUnrolled ? h.kernel : s64{1});
}

std::string lowest(Dtype dtype) {
  switch (dtype) {
    case Dtype::s8:
      return "-128";
    case Dtype::s32:
      return "(-2147483647 - 1)";
    case Dtype::f32:
      return "f32_bits(0xff800000u)";
    default:
      return "0";
  }
}

Launch make_launch(const CudaDevice& device, const PoolStep& step, const BindArgs& bind) {
  Launch launch{.source = {"pool", {}}, .shape = {}};
  KernelSource& source = launch.source;
  const s64 channels = step.geometry.channels;
  const s64 bytes = static_cast<s64>(dtype_bytes(step.x.dtype));
  const PixelStrides x = pixel_strides(step.x.shape, bind.inputs[0]);
  const PixelStrides y = pixel_strides(step.y.shape, bind.outputs[0]);
  const s64 vector =
      common_power(16 / bytes, {channels, x.image, x.row, x.pixel, y.image, y.row, y.pixel,
                                bind.input_offset(0) / bytes, bind.output_offset(0) / bytes});
  const bool codes = bytes == 1;
  const s64 count = step.geometry.batch * step.geometry.window.out_elements() * channels / vector;
  source.set("ELEMENT", kernel_type(step.x.dtype));
  source.set("OUT", kernel_type(step.y.dtype));
  source.set("S8", s64{step.x.dtype == Dtype::s8});
  source.set("CODES", s64{codes && vector >= 4});
  source.set("CODE_SUMS", s64{step.code_sums});
  source.set("MAX", s64{step.max});
  source.set("COUNT", count);
  source.set("C", channels), source.set("VEC", vector), source.set("ACCESS", vector * bytes);
  set_window(source, step.geometry.window);
  set_strides(source, "X", x), set_strides(source, "Y", y);
  source.set("LOWEST", lowest(step.x.dtype));
  source.set("ZP", s64{step.zero_point});
  source.set("CODE", step.code);
  const bool one = step.multipliers.empty() || all_equal(step.multipliers);
  source.set("MULTIPLIER", !one                       ? "p.multipliers[pixel]"
                           : step.multipliers.empty() ? "0.0f"
                                                      : exact_text(step.multipliers[0]));
  launch.shape = blocks_for(device, count);
  return launch;
}

Candidate pool_candidate(const LowerRequest& request, const char* kernel, const PoolStep& step) {
  Candidate candidate = candidate_of(request, kernel, Layout::nhwc);
  candidate.strided = candidate.writes_slices = true;
  candidate.cost =
      bytes_cost(static_cast<f64>(step.x.bytes() + step.y.bytes()), device_of(request).chip());
  return candidate;
}

Offer candidate_for(const LowerRequest& request, const char* kernel, PoolStep step) {
  Candidate candidate = pool_candidate(request, kernel, step);
  const CudaDevice& device = device_of(request);
  const bool varies = !step.multipliers.empty() && !all_equal(step.multipliers);
  const std::vector<f32> multipliers = varies ? step.multipliers : std::vector<f32>{};
  set_step(candidate, device,
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
             return params::PoolParams{data.input(0), varies ? data.blob<f32>(0) : nullptr,
                                       data.output()};
           });
  return candidate;
}

constexpr s64 kImageChannels = 16;

// Of an image's channels, and of its rows' largest.
s64 pooled_image_bytes(const Window& window) {
  return kImageChannels * (window.in_elements() + window.h().in * window.w().out);
}

// kernels/pool_image.cu
Launch pooled_image_launch(const PoolStep& step, const BindArgs& bind) {
  constexpr int kThreads = 256;
  Launch launch{.source = {"pool_image", {}}, .shape = {}};
  launch.source.set("S8", s64{step.x.dtype == Dtype::s8});
  launch.source.set("C", step.geometry.channels);
  set_window(launch.source, step.geometry.window);
  set_strides(launch.source, "X", pixel_strides(step.x.shape, bind.inputs[0]));
  set_strides(launch.source, "Y", pixel_strides(step.y.shape, bind.outputs[0]));
  launch.shape = {.blocks = step.geometry.batch * (step.geometry.channels / kImageChannels),
                  .threads = kThreads,
                  .shared_bytes = pooled_image_bytes(step.geometry.window),
                  .programmatic_dependent = true};
  return launch;
}

Candidate pooled_image_candidate(const LowerRequest& request, const PoolStep& step) {
  Candidate candidate = pool_candidate(request, "max_pool_image", step);
  candidate.alignment = kImageChannels;
  set_step(
      candidate, device_of(request),
      {.make_launch = [step](const BindArgs& bind) { return pooled_image_launch(step, bind); }},
      [](const StepData& data) {
        return params::PoolParams{data.input(0), nullptr, data.output()};
      });
  return candidate;
}

// Whose pixels are read more often than an image is brought to shared memory and back.
bool fits_as_image(const PoolStep& step) {
  constexpr s64 kLargeWindow = 16, kMostBytes = 48 << 10;
  return dtype_bytes(step.x.dtype) == 1 && step.geometry.channels % kImageChannels == 0 &&
         step.geometry.window.kernel_elements() > kLargeWindow &&
         pooled_image_bytes(step.geometry.window) <= kMostBytes;
}

}  // namespace

Offer lower_max_pool(const LowerRequest& request) {
  PoolStep step;
  const Dtype dtype = request.inputs[0].dtype;
  if (dtype != Dtype::u8 && dtype != Dtype::s8 && dtype != Dtype::f32 && dtype != Dtype::s32)
    return Reject{"the elements are neither codes nor f32 nor s32"};
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  step.max = true;
  if (fits_as_image(step)) return pooled_image_candidate(request, step);
  return candidate_for(request, "max_pool", std::move(step));
}

Offer lower_average_codes(const LowerRequest& request) {
  PoolStep step;
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  constexpr s64 kMostTaps = 1 << 22;  // whose sums fit s32
  if (step.geometry.window.kernel_elements() > kMostTaps) return Reject{"the window is too large"};
  const Epilogue epilogue = epilogue_of(request.node);
  step.code_sums = true;
  step.zero_point = epilogue.zero_point(0);
  step.code = code_text(epilogue, "t");
  step.multipliers = for_each_pixel(
      step.geometry,
      [](s64 divisor, const MeanScales& scales) {
        return divisor == 0 ? 0.0f : scales.multiplier(divisor);
      },
      mean_scales(request.node));
  return candidate_for(request, "average_codes", std::move(step));
}

Offer lower_average(const LowerRequest& request) {
  PoolStep step;
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  step.multipliers = for_each_pixel(
      step.geometry, [](s64 divisor, const MeanScales&) { return static_cast<f32>(divisor); }, {});
  return candidate_for(request, "average_pool", std::move(step));
}

}  // namespace octet::cuda
