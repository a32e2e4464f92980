// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear: q = rne(clamp(fl(x / scale), lo - zp, hi - zp)) + zp (docs/numerics.md section 2).
#include <limits>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/rounding.h"
#include "ops/axes.h"
#include "ops/dtypes.h"
#include "ops/float_io.h"
#include "ops/node_parser.h"
#include "ops/quant_axis.h"

namespace octet {
namespace {

enum : size_t { kX, kScale, kZeroPoint };

// The type of the codes becomes the zero point's, which is always present.
void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  const s64 dtype = attrs.i("output_dtype", 0);
  for (const char* name : {"output_dtype", "saturate", "precision"}) attrs.erase(name);
  if (parser.has_input(kZeroPoint)) return;
  parser.set_input(kZeroPoint, Tensor(dtype == 0 ? Dtype::u8 : dtype_from_onnx(dtype), Shape{}));
}

void infer(Inference& inference) {
  require_dtype(inference, kX, DtypeClass::number);
  check_quant_inputs(inference);
  const Dtype codes =
      inference.has_input(kZeroPoint) ? inference.inputs[kZeroPoint].dtype : Dtype::u8;
  if (!is_quantized_dtype(codes)) {
    fail(Error::Code::unsupported, "the zero point is {}, expected u8, s8, u16 or s16",
         dtype_name(codes));
  }
  if (inference.inputs[kX].dtype != Dtype::s32) require_dtype(inference, kX, DtypeClass::real);
  inference.output(codes, inference.inputs[kX].shape);
}

template <class T>
void quantize_all(const Eval& eval, std::span<const f32> x) {
  const FloatInput scale(eval, kScale);
  const QuantAxis axis = quant_axis(eval.node, eval.inputs[kX].shape, eval.inputs[kScale].shape);
  const std::span<const T> zero_points =
      eval.has_input(kZeroPoint) ? eval.inputs[kZeroPoint].as<T>() : std::span<const T>();
  const auto codes = eval.outputs[0].as<T>();
  using Limits = std::numeric_limits<T>;
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t c = static_cast<size_t>(axis.of(static_cast<s64>(i)));
    const s32 zero_point = zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : c];
    codes[i] = static_cast<T>(
        quantize(x[i], scale[static_cast<s64>(c)], zero_point, Limits::lowest(), Limits::max()));
  }
}

std::vector<f32> to_f32(std::span<const s32> values) {
  std::vector<f32> reals;
  for (s32 value : values) reals.push_back(static_cast<f32>(value));
  return reals;
}

void quantize_any(const Eval& eval, std::span<const f32> x) {
  visit_dtype(eval.outputs[0].dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 2 && !std::is_same_v<T, bool>) {
      quantize_all<T>(eval, x);
    }
  });
}

void eval(const Eval& eval) {
  if (eval.inputs[kX].dtype == Dtype::s32) {
    return quantize_any(eval, to_f32(eval.inputs[kX].as<s32>()));
  }
  quantize_any(eval, FloatInput(eval, kX).values());
}

}  // namespace

extern constinit const OpDef kQuantizeLinear{.name = "QuantizeLinear",
                                             .domain = "",
                                             .inputs = {2, 3},
                                             .outputs = {1, 1},
                                             .parse = parse,
                                             .infer = infer,
                                             .eval = eval};
}  // namespace octet
