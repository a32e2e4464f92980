// SPDX-License-Identifier: Apache-2.0
// DeformConv(x, w, offsets, bias?, mask?): a 2-D convolution whose taps are moved by offsets (rows, then columns) that differ
// from pixel to pixel, and weighted by the mask. Between pixels x is interpolated; outside the image it is 0.
#include <cmath>
#include <vector>

#include "core/check.h"
#include "ops/attributes/window.h"
#include "ops/shared/axes.h"
#include "ops/shared/conv.h"
#include "ops/shared/dot.h"
#include "ops/shared/float_io.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kOffset, kBias, kMask };
constexpr auto kInvalid = Error::Code::invalid_model;

struct DeformConvAttributes : ConvAttributes {
  s64 offset_group = 1;

  OCTET_MORE_ATTRIBUTES(ConvAttributes, offset_group)
};

s64 offset_groups(const Node& node, const ConvGeometry& g) {
  const s64 groups = attribute_of<&DeformConvAttributes::offset_group>(node);
  if (groups < 1 || g.in_channels % groups != 0)
    fail(kInvalid, "attribute 'offset_group' is {}, which does not divide {} channels", groups,
         g.in_channels);
  return groups;
}

void require(const Inference& inference, size_t i, const Shape& wanted) {
  if (!inference.has_input(i)) return;
  require_dtype(inference, i, DtypeClass::real);
  if (inference.inputs[i].shape != wanted)
    fail(kInvalid, "input {} is {}, expected {}", i, to_string(inference.inputs[i].shape),
         to_string(wanted));
}

void infer(Inference& inference) {
  require_dtype(inference, kX, DtypeClass::real);
  require_same_dtypes(inference);
  if (inference.inputs[kX].shape.rank() != 4)
    fail(Error::Code::unsupported, "the input is {}; only images are supported",
         to_string(inference.inputs[kX].shape));
  const ConvGeometry g =
      conv_geometry(inference.node, inference.inputs[kX].shape, inference.inputs[kWeights].shape);
  const s64 taps = offset_groups(inference.node, g) * g.window.kernel_elements();
  const s64 height = g.window.h().out, width = g.window.w().out;
  require(inference, kOffset, Shape{g.batch, 2 * taps, height, width});
  require(inference, kBias, Shape{g.out_channels});
  require(inference, kMask, Shape{g.batch, taps, height, width});
  inference.output(inference.inputs[kX].dtype, g.output_shape());
}

f32 interpolated(const f32* plane, s64 height, s64 width, f32 y, f32 x) {
  if (!(y > -1.0f && y < static_cast<f32>(height) && x > -1.0f && x < static_cast<f32>(width)))
    return 0.0f;
  const f32 top = std::floor(y), left = std::floor(x);
  const f32 dy = y - top, dx = x - left;
  const auto at = [&](s64 row, s64 column) {
    const bool inside = row >= 0 && row < height && column >= 0 && column < width;
    return inside ? plane[row * width + column] : 0.0f;
  };
  const s64 row = static_cast<s64>(top), column = static_cast<s64>(left);
  return (1.0f - dy) * ((1.0f - dx) * at(row, column) + dx * at(row, column + 1)) +
         dy * ((1.0f - dx) * at(row + 1, column) + dx * at(row + 1, column + 1));
}

class Sampler {
 public:
  Sampler(const Eval& eval, const ConvGeometry& geometry)
      : g_(geometry),
        groups_(offset_groups(eval.node, geometry)),
        x_(eval, kX),
        offset_(eval, kOffset),
        mask_(eval, kMask) {}

  // The values that the weights of `group` meet at one output pixel, in the order of the weights.
  void gather(s64 image, s64 group, s64 pixel, std::vector<f32>& patch) const {
    const WindowAxis &h = g_.window.h(), &w = g_.window.w();
    const s64 row = pixel / w.out * h.stride - h.pad_begin;
    const s64 column = pixel % w.out * w.stride - w.pad_begin;
    const s64 taps = h.kernel * w.kernel, channels = g_.in_channels_per_group();
    for (s64 i = 0; i < channels * taps; ++i) {
      const s64 channel = group * channels + i / taps, tap = i % taps;
      const s64 moved = (image * groups_ + channel / (g_.in_channels / groups_)) * taps + tap;
      const s64 tap_row = tap / w.kernel;
      const f32 y = static_cast<f32>(row + tap_row * h.dilation) + offset(2 * moved, pixel);
      const f32 x =
          static_cast<f32>(column + tap % w.kernel * w.dilation) + offset(2 * moved + 1, pixel);
      const f32* plane = x_.data() + (image * g_.in_channels + channel) * h.in * w.in;
      const f32 value = interpolated(plane, h.in, w.in, y, x);
      patch[static_cast<size_t>(i)] =
          mask_ ? value * mask_[moved * g_.window.out_elements() + pixel] : value;
    }
  }

 private:
  f32 offset(s64 plane, s64 pixel) const {
    return offset_[plane * g_.window.out_elements() + pixel];
  }

  const ConvGeometry& g_;
  s64 groups_;
  FloatInput x_, offset_, mask_;
};

void eval(const Eval& eval) {
  const ConvGeometry g =
      conv_geometry(eval.node, eval.inputs[kX].shape, eval.inputs[kWeights].shape);
  if (eval.outputs[0].shape.elements() == 0) return;
  const Sampler sampler(eval, g);
  const FloatInput weights(eval, kWeights), bias(eval, kBias);
  const FloatOutput y(eval.outputs[0]);
  const s64 pixels = g.window.out_elements(), filters = g.out_channels_per_group();
  const s64 depth = g.in_channels_per_group() * g.window.kernel_elements();
  std::vector<f32> patch(static_cast<size_t>(depth));
  for (s64 at = 0; at < g.batch * g.groups * pixels; ++at) {
    const s64 image = at / (g.groups * pixels), group = at / pixels % g.groups, pixel = at % pixels;
    sampler.gather(image, group, pixel, patch);
    for (s64 o = group * filters; o < (group + 1) * filters; ++o) {
      const f32 sum = dot(weights.data() + o * depth, patch.data(), depth);
      y[(image * g.out_channels + o) * pixels + pixel] = bias ? sum + bias[o] : sum;
    }
  }
  y.store();
}

// Each value that a weight meets is interpolated between four pixels.
f64 work(const Node& node, TensorTypes inputs, TensorTypes outputs) {
  return 8 * convolution_macs(node, inputs, outputs);
}

constexpr OpTraits kTraits{.macs = convolution_macs, .work = work};

}  // namespace

extern constinit const OpDef kDeformConv{
    .name = "DeformConv", .inputs = {3, 5}, .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
