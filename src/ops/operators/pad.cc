// SPDX-License-Identifier: Apache-2.0
// Pad(x, pads, constant_value?, axes?) {mode}: pads are begins then ends; negative ones crop. constant_value has x's type,
// so on codes it is a code.
#include "ops/shared/pad.h"

#include <algorithm>
#include <numeric>

#include "core/checked.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_maps.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

void parse(NodeParser& parser) {
  if (parser.opset >= 11) return;
  parser.ints_to_input("paddings", 1);
  parser.ints_to_input("pads", 1);
  const f32 value = parser.node.attrs.f("value", 0.0f);
  parser.node.attrs.erase("value");
  if (value != 0.0f) parser.set_input(2, Tensor::scalar(value));
}

struct AxisPad {
  s64 begin = 0;
  s64 end = 0;
};

// One entry for each axis of the input.
std::vector<AxisPad> axis_pads(int rank, std::span<const s64> pads, std::vector<s64> axes,
                               bool has_axes) {
  if (!has_axes) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), s64{0});
  }
  if (pads.size() != 2 * axes.size()) {
    fail(kInvalid, "there are {} pads for {} axes, expected {}", pads.size(), axes.size(),
         2 * axes.size());
  }
  std::vector<AxisPad> result(static_cast<size_t>(rank));
  const std::vector<int> normalized = normalize_axes(axes, rank);
  for (size_t i = 0; i < normalized.size(); ++i) {
    result[static_cast<size_t>(normalized[i])] = {pads[i], pads[i + normalized.size()]};
  }
  return result;
}

Shape padded_shape(const Shape& input, std::span<const AxisPad> pads, PadMode mode) {
  Shape output;
  for (int i = 0; i < input.rank(); ++i) {
    const AxisPad& pad = pads[static_cast<size_t>(i)];
    const auto both = checked_add(pad.begin, pad.end);
    const auto dim = both ? checked_add(input[i], *both) : std::nullopt;
    if (!dim || *dim < 0) {
      fail(kInvalid, "axis {} of size {} cannot be padded by {} and {}", i, input[i], pad.begin,
           pad.end);
    }
    if (mode != PadMode::constant && input[i] == 0 && *dim > 0) {
      fail(kInvalid, "axis {} is empty, so it cannot be padded from its elements", i);
    }
    output.push_back(*dim);
  }
  return output;
}

// Where position i of an axis of `dim` elements comes from; i may lie outside.
s64 source_index(s64 i, s64 dim, PadMode mode) {
  if (i >= 0 && i < dim) return i;
  if (mode == PadMode::constant) return -1;
  if (mode == PadMode::edge) return std::clamp<s64>(i, 0, dim - 1);
  const s64 period = mode == PadMode::wrap ? dim : std::max<s64>(2 * (dim - 1), 1);
  const s64 phase = (i % period + period) % period;
  return phase < dim ? phase : period - phase;
}

void infer(Inference& inference) {
  const TensorType& input = inference.inputs[0];
  const PadMode mode = attribute_of<&PadAttributes::mode>(inference.node);
  if (inference.has_input(2) && mode == PadMode::constant) {
    const TensorType& value = inference.inputs[2];
    if (value.dtype != input.dtype || value.shape.elements() != 1) {
      fail(kInvalid, "the constant value is {}, expected one {}", to_string(value),
           dtype_name(input.dtype));
    }
  }
  const bool has_axes = inference.has_input(3);
  std::vector<s64> axes;
  if (has_axes) axes = inference.required_ints(3, "the axes of a pad");
  const std::vector<s64> pads = inference.required_ints(1, "the pads");
  inference.output(
      input.dtype,
      padded_shape(input.shape, axis_pads(input.shape.rank(), pads, axes, has_axes), mode));
}

}  // namespace

AxisMaps pad_maps(const PadRequest& request) {
  const Shape& input = request.input;
  const PadMode mode = attribute_of<&PadAttributes::mode>(request.node);
  const auto pads = axis_pads(input.rank(), request.pads, request.axes, request.has_axes);
  require_shape(request.output, padded_shape(input, pads, mode));
  AxisMaps maps;
  if (request.output.elements() == 0) return maps;  // one axis may still be huge
  for (int d = 0; d < input.rank(); ++d) {
    std::vector<s64> map(static_cast<size_t>(request.output[d]));
    for (size_t i = 0; i < map.size(); ++i) {
      const s64 position = static_cast<s64>(i) - pads[static_cast<size_t>(d)].begin;
      map[i] = source_index(position, input[d], mode);
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

namespace {

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const PadMode mode = attribute_of<&PadAttributes::mode>(eval.node);
  const AxisMaps maps = pad_maps({eval.node, input.shape, eval.outputs[0].shape, read_ints(eval, 1),
                                  read_ints(eval, 3), eval.has_input(3)});
  if (eval.outputs[0].shape.elements() == 0) return;
  const bool has_value = eval.has_input(2) && mode == PadMode::constant;
  mapped_copy(maps, input, eval.outputs[0], has_value ? eval.inputs[2].data : nullptr);
}

constexpr FloatAttribute kFloats[] = {{"value", FloatDomain::any}};
constexpr OpTraits kTraits{.floats = kFloats};

}  // namespace

extern constinit const OpDef kPad{.name = "Pad",
                                  .inputs = {2, 4},
                                  .parse = parse,
                                  .infer = infer,
                                  .eval = eval,
                                  .quant = kMovesCodes,
                                  .traits = &kTraits};
}  // namespace octet
