// SPDX-License-Identifier: Apache-2.0
// Col2Im(x[N, C * block, L], image_shape, block_shape): adds the columns back to where the blocks of an image lie.
#include <algorithm>
#include <vector>

#include "core/check.h"
#include "core/checked.h"
#include "ops/attributes/window.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;
constexpr s64 kMost = s64{1} << 31;

struct Axis {
  s64 image, block, stride, dilation, begin;
  s64 blocks = 0;  // positions along this axis
};

struct Geometry {
  std::vector<Axis> axes;
  s64 taps = 1;
  s64 blocks = 1;
};

s64 checked_product(s64 a, s64 b) {
  const auto product = checked_mul(a, b);
  if (!product) fail(kInvalid, "the blocks have more than 2^63 elements");
  return *product;
}

Geometry geometry_of(const Node& node, std::span<const s64> image, std::span<const s64> block) {
  const size_t rank = image.size();
  const auto attributes = attributes_of<WindowAttributes>(node);
  const auto strides = attributes.strides.value_or(std::vector<s64>(rank, 1));
  const auto dilations = attributes.dilations.value_or(std::vector<s64>(rank, 1));
  const auto pads = attributes.pads.value_or(std::vector<s64>(2 * rank, 0));
  if (rank < 1 || block.size() != rank || strides.size() != rank || dilations.size() != rank ||
      pads.size() != 2 * rank) {
    fail(kInvalid, "image_shape has {} axes; block_shape or an attribute has another number", rank);
  }
  Geometry g;
  for (size_t i = 0; i < rank; ++i) {
    Axis axis{image[i], block[i], strides[i], dilations[i], pads[i]};
    const auto fits = [](s64 value, s64 least) { return value >= least && value <= kMost; };
    if (!fits(axis.image, 0) || !fits(axis.block, 1) || !fits(axis.stride, 1) ||
        !fits(axis.dilation, 1) || !fits(pads[i], 0) || !fits(pads[rank + i], 0)) {
      fail(kInvalid, "axis {} has a size, stride, dilation or pad out of range", i);
    }
    const s64 reach = axis.dilation * (axis.block - 1) + 1;
    const s64 room = axis.image + pads[i] + pads[rank + i] - reach;
    if (room < 0) fail(kInvalid, "a block of {} is larger than the image of {}", reach, axis.image);
    axis.blocks = room / axis.stride + 1;
    g.taps = checked_product(g.taps, axis.block);
    g.blocks = checked_product(g.blocks, axis.blocks);
    g.axes.push_back(axis);
  }
  return g;
}

void infer(Inference& inference) {
  const Shape& x = inference.inputs[0].shape;
  require_dtype(inference, 0, DtypeClass::real);
  const std::vector<s64> image = inference.required_ints(1, "the image shape");
  const Geometry g =
      geometry_of(inference.node, image, inference.required_ints(2, "the block shape"));
  if (x.rank() != 3 || x[1] % g.taps != 0 || x[2] != g.blocks) {
    fail(kInvalid, "the input is {}, expected columns of a multiple of {} and {} blocks",
         to_string(x), g.taps, g.blocks);
  }
  std::vector<s64> output = {x[0], x[1] / g.taps};
  output.insert(output.end(), image.begin(), image.end());
  inference.output(inference.inputs[0].dtype, Shape(output));
}

// Where a tap of a block lies in the image, or -1.
s64 target(const Geometry& g, s64 tap, s64 block) {
  s64 offset = 0, inner = 1;
  for (size_t i = g.axes.size(); i-- > 0;) {
    const Axis& axis = g.axes[i];
    const s64 at =
        block % axis.blocks * axis.stride + tap % axis.block * axis.dilation - axis.begin;
    if (at < 0 || at >= axis.image) return -1;
    offset += at * inner;
    inner *= axis.image;
    tap /= axis.block;
    block /= axis.blocks;
  }
  return offset;
}

void eval(const Eval& eval) {
  const Geometry g = geometry_of(eval.node, read_ints(eval, 1), read_ints(eval, 2));
  const FloatInput x(eval, 0);
  const FloatOutput y(eval.outputs[0]);
  std::fill(y.values().begin(), y.values().end(), 0.0f);
  const s64 pixels = dims_product(eval.outputs[0].shape, 2, eval.outputs[0].shape.rank());
  for (s64 i = 0; i < std::ssize(x.values()); ++i) {
    const s64 row = i / g.blocks;
    const s64 at = target(g, row % g.taps, i % g.blocks);
    if (at >= 0) y[row / g.taps * pixels + at] += x[i];
  }
  y.store();
}

}  // namespace

extern constinit const OpDef kCol2Im{
    .name = "Col2Im", .inputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet
