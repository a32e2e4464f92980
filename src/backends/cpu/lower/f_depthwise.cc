// SPDX-License-Identifier: Apache-2.0
// f32 depthwise 3x3 convolution of nhwc images to the bit of the reference, for the layers of INT8 engines that stay in f32: what they
// give becomes codes again, and codes are equal on every instruction set. Others are f_depthwise_taps.cc's.
#include <algorithm>
#include <memory>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/depthwise.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"
#include "ops/attributes/marks.h"
#include "ops/shared/activation.h"
#include "ops/shared/conv.h"

namespace octet {
namespace {

struct PackedConstants {
  Tensor weights;  // [9][C]
  Tensor bias;     // [C]
  Tensor zeros;    // [C]: a tap outside the image

  // `given` may be no bias.
  PackedConstants(const Tensor& taps, const Tensor& given)
      : weights(Dtype::f32, Shape{9, taps.shape()[0]}),
        bias(given ? given.clone() : Tensor(Dtype::f32, Shape{taps.shape()[0]})),
        zeros(Dtype::f32, Shape{taps.shape()[0]}) {
    for (f32& b : bias.mutable_as<f32>()) b += 0.0f;  // no -0
    const auto channels = static_cast<size_t>(taps.shape()[0]);
    for (size_t i = 0; i < 9 * channels; ++i)
      weights.mutable_as<f32>()[i % 9 * channels + i / 9] = taps.as<f32>()[i];
  }
};

struct DepthwiseStep {
  void (*function)(const DepthwiseF32Args*);
  ConvGeometry geometry;
  Activation activation;
  std::shared_ptr<const PackedConstants> packed = nullptr;

  const WindowAxis& h() const { return geometry.window.h(); }
  const WindowAxis& w() const { return geometry.window.w(); }

  // Pixels [first, last) of one output row, whose horizontal taps are all inside or which are one.
  void pixels(const f32* image, f32* row_out, s64 row, s64 first, s64 last) const noexcept {
    const s64 channels = geometry.in_channels;
    DepthwiseF32Args args{};
    for (s64 k = 0; k < 9; ++k) {
      const s64 y = row * h().stride - h().pad_begin + k / 3 * h().dilation;
      const s64 x = first * w().stride - w().pad_begin + k % 3 * w().dilation;
      const bool inside = y >= 0 && y < h().in && x >= 0 && x < w().in;
      args.taps[k] = inside ? image + (y * w().in + x) * channels
                            : reinterpret_cast<const f32*>(packed->zeros.data());
      args.steps[k] = inside ? w().stride * channels : 0;
    }
    args.weights = reinterpret_cast<const f32*>(packed->weights.data());
    args.bias = reinterpret_cast<const f32*>(packed->bias.data());
    args.dst = row_out + first * channels;
    args.count = last - first;
    args.channels = channels;
    args.clamps = activation.is_clamp();
    args.min = activation.min;
    args.max = activation.max;
    args.alpha = activation.kind == Activation::Kind::leaky_relu ? activation.alpha : 1.0f;
    function(&args);
  }

  void row(const f32* image, f32* out, s64 index) const noexcept {
    // Columns whose three taps are all inside.
    const s64 reach = 2 * w().dilation;
    const s64 left = std::min((w().pad_begin + w().stride - 1) / w().stride, w().out);
    const s64 end = w().in - 1 - reach + w().pad_begin;
    const s64 right = end < 0 ? left : std::clamp(end / w().stride + 1, left, w().out);
    for (s64 x = 0; x < left; ++x) pixels(image, out, index, x, x + 1);
    if (left < right) pixels(image, out, index, left, right);
    for (s64 x = right; x < w().out; ++x) pixels(image, out, index, x, x + 1);
  }

  void operator()(const StepArgs& step) const noexcept {
    const s64 channels = geometry.in_channels;
    const s64 in_image = h().in * w().in * channels, out_row = w().out * channels;
    const auto body = [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) {
        row(f32_input(step, 0) + i / h().out * in_image, f32_output(step, 0) + i * out_row,
            i % h().out);
      }
    };
    constexpr s64 kSerial = 16384;
    const s64 rows = geometry.batch * h().out;
    if (rows * out_row < kSerial) return body(0, rows, 0);
    pool_of(step).parallel_for(rows, body);
  }
};

auto kernel_for_level(Isa isa) {
  if (isa.has(Isa::neon)) return depthwise_f32_neon;
  return isa.has(Isa::vnni) ? depthwise_f32_vnni : depthwise_f32_avx2;
}

}  // namespace

Offer lower_f_depthwise(const LowerRequest& request) {
  if (!attribute_of<&ExactAttributes::exact>(request.node))
    return Reject{"a close result is enough here"};
  const Isa isa = isa_of(request.target);
  if (std::string reason = float_reject(request); !reason.empty()) return Reject{reason};
  if (std::string reason = image_conv_reject(request); !reason.empty()) return Reject{reason};
  const Tensor& weights = *request.constant(1);
  const ConvGeometry g = conv_geometry(request.node, request.inputs[0].shape, weights.shape());
  if (!g.depthwise() || g.window.h().kernel != 3 || g.window.w().kernel != 3)
    return Reject{"not depthwise 3x3"};
  const DepthwiseStep step{kernel_for_level(isa), g, activation_of(request.node)};
  Candidate candidate;
  candidate.kernel = kernel_name("f32", "depthwise_3x3", isa);
  candidate.macs_per_cycle = real_unit_rate(isa);
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.inputs[0] = Layout::nhwc;
  candidate.outputs = {Layout::nhwc};
  candidate.holds = {false, true, request.has_input(2)};
  const Tensor bias = request.has_input(2) ? *request.constant(2) : Tensor();
  candidate.prepare = [weights, bias](const BindArgs&) {
    return std::vector<Preparation>{preparation<PackedConstants>(
        "depthwise 3x3", {weights, bias}, [=] { return PackedConstants(weights, bias); })};
  };
  candidate.bind = [step](const BindArgs& bind) -> RunStep {
    DepthwiseStep bound = step;
    bound.packed = bind.prepared_as<PackedConstants>();
    return bound;
  };
  return candidate;
}

}  // namespace octet
