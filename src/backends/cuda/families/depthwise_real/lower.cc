// SPDX-License-Identifier: Apache-2.0
// Depthwise Conv of reals, with what stands around it.
#include <algorithm>
#include <limits>

#include "backends/cuda/families/depthwise_real/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/float_product.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using depthwise_real::Spec;

Spec make_spec(const FloatProduct& product) {
  const bool codes = product.dequantized.has_value();
  return {.window = float_window(product),
          .at = {},
          .end = real_end(product),
          .x = codes ? product.dequantized->type : product.x_type,
          .x_rounded = codes ? product.grid : Number::f32,
          .channels = 1};
}

std::string reject(const FloatProduct& product) {
  constexpr s64 kMost = std::numeric_limits<s32>::max() / 2, kMostTaps = 81;
  if (product.rows) return "it is no convolution";
  if (product.geometry.window.kernel_elements() > kMostTaps) return "the window is large";
  return product.x.elements() > kMost || product.y.elements() > kMost
             ? "an operand has 2^30 elements or more"
             : "";
}

Launch make_launch(const CudaDevice& device, const FloatProduct& product, const BindArgs& bind) {
  Spec spec = make_spec(product);
  const s64 channels = product.geometry.out_channels;
  const Placement &x = bind.inputs[product.x_input], &y = bind.outputs[0];
  spec.at.x = product.strides(product.x, channels, x);
  spec.at.y = product.strides(product.y, channels, y);
  // Sums of a window of many taps take as many registers as it has, up to 16.
  constexpr s64 kWidest = 16, kFewTaps = 9;
  const s64 x_bytes = bytes_of(spec.x), y_bytes = bytes_of(spec.end.y);
  s64 most =
      std::min(taps(spec) <= kFewTaps ? s64{8} : s64{4}, kWidest / std::min(x_bytes, y_bytes));
  most = common_power(most, {channels, spec.at.x.image, spec.at.x.row, spec.at.x.pixel,
                             bind.input_offset(product.x_input) / x_bytes, spec.at.y.image,
                             spec.at.y.row, spec.at.y.pixel, bind.output_offset(0) / y_bytes});
  if (product.has_residual) {
    const PixelStrides r = spec.at.residual =
        product.strides(product.y, channels, bind.inputs[product.residual_input]);
    most = common_power(
        most, {r.image, r.row, r.pixel,
               bind.input_offset(product.residual_input) / bytes_of(spec.end.residual_type)});
  }
  spec.channels = field_of(most);
  Launch launch{
      .source = source_of("depthwise_real", spec),
      .shape = blocks_for(device, product.pixels() * channels / most, depthwise_real::kThreads)};
  launch.shape.programmatic_dependent = true;
  return launch;
}

std::vector<std::byte> packed(const FloatProduct& product) {
  const s64 channels = product.geometry.out_channels,
            taps = product.geometry.window.kernel_elements();
  std::vector<f32> weights(static_cast<size_t>(channels * taps));
  for (s64 tap = 0; tap < taps; ++tap) {
    for (s64 c = 0; c < channels; ++c)
      weights[static_cast<size_t>(tap * channels + c)] = product.weight(c, tap);
  }
  return bytes_of(std::span<const f32>(weights));
}

std::vector<BlobRecipe> blobs(const FloatProduct& product) {
  std::vector<BlobRecipe> all;
  all.push_back({"depthwise_real", {product.weights}, [product] { return packed(product); }});
  if (product.bias) all.push_back(constant_blob(product.bias));
  return all;
}

}  // namespace

Offer depthwise_real_offer(const LowerRequest& request, const FloatProduct& product) {
  if (std::string reason = reject(product); !reason.empty()) return Reject{reason};
  const CudaDevice& device = device_of(request);
  Candidate candidate = candidate_of(request, "depthwise_real", Layout::nhwc);
  if (!is_chain(request.node)) candidate.inputs[kFloatWeights] = Layout::linear;
  candidate.strided = candidate.writes_slices = true;
  candidate.by_image = !is_chain(request.node) && (!product.has_bias || product.bias);
  candidate.cost = bytes_cost(moved_bytes(request), device.chip());
  set_step(candidate, device,
           {.make_launch = [&device, product](
                               const BindArgs& bind) { return make_launch(device, product, bind); },
            .recipes = [product](const BindArgs&) { return blobs(product); }},
           [product](const StepData& data) {
             return depthwise_real::Params{data.input(product.x_input), data.blob<f32>(0),
                                           real_end_params(product, data, 1),
                                           static_cast<s32>(product.pixels())};
           });
  return candidate;
}

}  // namespace octet::cuda
