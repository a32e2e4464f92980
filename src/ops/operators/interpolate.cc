// SPDX-License-Identifier: Apache-2.0
// Interpolate: Resize that computes (linear, cubic) and does not crop, with scales or sizes that are known or integers. Inputs X, roi,
// scales, sizes.
#include "ops/shared/interpolate.h"

#include <array>

#include "ops/attributes/sampling.h"
#include "ops/quantized/quantize_node.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  inference.output(inference.inputs[0].dtype, resized_shape(inference));
}

void eval(const Eval& eval) {
  if (eval.outputs[0].shape.elements() == 0) return;
  const Shape& shape = eval.inputs[0].shape;
  const ResizeGeometry geometry = resize_geometry(eval.node, shape, resize_parameters(eval));
  require_shape(eval.outputs[0].shape, geometry.output);
  store_numbers(eval.outputs[0], interpolate(geometry, shape, read_numbers(eval.inputs[0])));
}

QuantizeResult quantize(const QuantizeRequest& request) {
  if (std::string why = not_all_codes(request, 1); !why.empty()) return reject(std::move(why));
  std::vector<ValueId> inputs = request.node.inputs;
  inputs[0] = request.inputs[0].codes;
  QuantizeResult result{integer_node("QInterpolate", std::move(inputs)), {}};
  copy_attributes<InterpolateAttributes>(request.node.attrs, result.node.attrs);
  const f32 multiplier = request.inputs[0].scalar_scale() / request.output.scale;
  if (!std::isfinite(multiplier)) return reject("its scales are too far apart for one multiplier");
  set_attribute<&QInterpolateAttributes::multiplier>(result.node.attrs, multiplier);
  set_input_zero_points(result.node, std::array{request.inputs[0].zero_point});
  set_output_attrs(result.node, request, Activation{});
  return result;
}

constexpr FloatAttribute kFloats[] = {{"extrapolation_value", FloatDomain::any}};
constexpr OpTraits kTraits{.work = resize_work, .floats = kFloats};

}  // namespace

extern constinit const OpDef kInterpolate{
    .name = "Interpolate",
    .domain = "octet",
    .inputs = {1, 4},
    .infer = infer,
    .eval = eval,
    .quant = {.kind = QuantKind::arithmetic, .quantize = quantize},
    .traits = &kTraits};
}  // namespace octet
