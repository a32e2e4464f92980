// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear: q = rne(clamp(fl(x / scale), lo - zp, hi - zp)) + zp (docs/numerics.md section 2).
#include <limits>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/rounding.h"
#include "graph/op_traits.h"
#include "ops/quantized/quant_axis.h"
#include "ops/shared/axes.h"
#include "ops/shared/convert.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/small_input.h"

namespace octet {
namespace {

enum : size_t { kX, kScale, kZeroPoint };

// The type of the codes becomes the zero point's, which is always present.
void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  const s64 dtype = attrs.i("output_dtype", 0);
  for (const char* name : {"output_dtype", "precision"}) attrs.erase(name);
  parse_small_rounding(attrs);
  if (parser.has_input(kZeroPoint)) return;
  parser.set_input(kZeroPoint, Tensor(dtype == 0 ? Dtype::u8 : dtype_from_onnx(dtype), Shape{}));
}

void infer(Inference& inference) {
  require_dtype(inference, kX, DtypeClass::number);
  check_quant_inputs(inference);
  const Dtype codes =
      inference.has_input(kZeroPoint) ? inference.inputs[kZeroPoint].dtype : Dtype::u8;
  if (!is_quantized_dtype(codes) && !is_small_code_dtype(codes)) {
    fail(Error::Code::unsupported,
         "the zero point is {}, expected an integer of 2, 4, 8 or 16 bits, float8 or float4",
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

// Of floats: the nearest of fl(fl(x / scale) + zp).
void quantize_small(const Eval& eval, std::span<const f32> x) {
  const Dtype dtype = eval.outputs[0].dtype;
  const bool integer = is_small_integer(dtype);
  const SmallRange range = integer ? small_integer_range(dtype) : SmallRange{};
  const SmallRounding rounding = small_rounding(eval.node.attrs);
  const FloatInput scale(eval, kScale);
  const SmallInput zero_points(eval, kZeroPoint);
  const QuantAxis axis = quant_axis(eval.node, eval.inputs[kX].shape, eval.inputs[kScale].shape);
  u8* codes = static_cast<u8*>(eval.outputs[0].data);
  for (size_t i = 0; i < x.size(); ++i) {
    const s64 c = axis.of(static_cast<s64>(i));
    const f32 zero_point = zero_points.at_or_zero(c);
    codes[i] = integer ? static_cast<u8>(quantize(x[i], scale[c], static_cast<s32>(zero_point),
                                                  range.lowest, range.highest))
                       : small_from_f32(dtype, x[i] / scale[c] + zero_point, rounding);
  }
}

void quantize_any(const Eval& eval, std::span<const f32> x) {
  if (is_small_dtype(eval.outputs[0].dtype)) return quantize_small(eval, x);
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

constexpr OpTraits kTraits{.codes = CodeMeaning::quantize};

}  // namespace

extern constinit const OpDef kQuantizeLinear{.name = "QuantizeLinear",
                                             .inputs = {2, 3},
                                             .parse = parse,
                                             .infer = infer,
                                             .eval = eval,
                                             .traits = &kTraits};
}  // namespace octet
