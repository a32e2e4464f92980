// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear: u8 codes over the range of the data, which always includes 0.
#include <algorithm>

#include "core/reduce.h"
#include "core/rounding.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  inference.output(Dtype::u8, inference.inputs[0].shape);
  inference.output(Dtype::f32, Shape{});
  inference.output(Dtype::u8, Shape{});
}

void eval(const Eval& eval) {
  const FloatInput x(eval, 0);
  const auto at = [&](s64 i) { return x[i]; };
  const f32 max = std::max(lane_max(std::ssize(x.values()), at), 0.0f);
  const f32 min = std::min(lane_min(std::ssize(x.values()), at), 0.0f);
  const f32 scale = max > min ? (max - min) / 255.0f : 1.0f;
  const s32 zero_point = rne(clamp_f32((0.0f - min) / scale, 0.0f, 255.0f));
  const auto codes = eval.outputs[0].as<u8>();
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<u8>(quantize(x.values()[i], scale, zero_point, 0, 255));
  }
  eval.outputs[1].as<f32>()[0] = scale;
  eval.outputs[2].as<u8>()[0] = static_cast<u8>(zero_point);
}

}  // namespace

extern constinit const OpDef kDynamicQuantizeLinear{
    .name = "DynamicQuantizeLinear", .outputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet
