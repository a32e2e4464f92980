// SPDX-License-Identifier: Apache-2.0
// DequantizeLinear: real = fl(float(q - zp) * scale) (docs/numerics.md section 2); s32 codes are biases.
#include <span>

#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/quantized/quant_axis.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/small_input.h"

namespace octet {
namespace {

enum : size_t { kX, kScale, kZeroPoint };

void parse(NodeParser& parser) { parser.node.attrs.erase("output_dtype"); }

void infer(Inference& inference) {
  const Dtype codes = inference.inputs[kX].dtype;
  if (!is_quantized_dtype(codes) && codes != Dtype::s32 && !is_small_code_dtype(codes)) {
    fail(Error::Code::unsupported,
         "the codes are {}, expected an integer of 2, 4, 8 or 16 bits, s32, float8 or float4",
         dtype_name(codes));
  }
  check_quant_inputs(inference);
  if (inference.has_input(kZeroPoint) && inference.inputs[kZeroPoint].dtype != codes) {
    fail(Error::Code::invalid_model, "the zero point is {}, but the codes are {}",
         dtype_name(inference.inputs[kZeroPoint].dtype), dtype_name(codes));
  }
  inference.output(inference.inputs[kScale].dtype, inference.inputs[kX].shape);
}

template <class T>
void dequantize_all(const Eval& eval) {
  const FloatInput scale(eval, kScale);
  const FloatOutput y(eval.outputs[0]);
  const QuantAxis axis = quant_axis(eval.node, eval.inputs[kX].shape, eval.inputs[kScale].shape);
  const std::span<const T> zero_points =
      eval.has_input(kZeroPoint) ? eval.inputs[kZeroPoint].as<T>() : std::span<const T>();
  const auto codes = eval.inputs[kX].as<T>();
  for (s64 i = 0; i < std::ssize(codes); ++i) {
    const s64 c = axis.of(i);
    const s64 zero_point =
        zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : static_cast<size_t>(c)];
    y[i] = static_cast<f32>(s64{codes[static_cast<size_t>(i)]} - zero_point) * scale[c];
  }
  y.store();
}

void dequantize_small(const Eval& eval) {
  const FloatInput scale(eval, kScale);
  const FloatOutput y(eval.outputs[0]);
  const QuantAxis axis = quant_axis(eval.node, eval.inputs[kX].shape, eval.inputs[kScale].shape);
  const SmallInput codes(eval, kX), zero_points(eval, kZeroPoint);
  for (s64 i = 0; i < std::ssize(y.values()); ++i) {
    const s64 c = axis.of(i);
    y[i] = (codes[i] - zero_points.at_or_zero(c)) * scale[c];
  }
  y.store();
}

void eval(const Eval& eval) {
  if (is_small_dtype(eval.inputs[kX].dtype)) return dequantize_small(eval);
  visit_dtype(eval.inputs[kX].dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 4 && !std::is_same_v<T, bool>) {
      dequantize_all<T>(eval);
    }
  });
}

constexpr OpTraits kTraits{.codes = CodeMeaning::dequantize};

}  // namespace

extern constinit const OpDef kDequantizeLinear{.name = "DequantizeLinear",
                                               .inputs = {2, 3},
                                               .parse = parse,
                                               .infer = infer,
                                               .eval = eval,
                                               .traits = &kTraits};
}  // namespace octet
