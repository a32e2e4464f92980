// SPDX-License-Identifier: Apache-2.0
// Clip: x between the optional scalars min and max. Where min > max, the result is max. NaN passes; a bound that is NaN is refused
// where it is known before the run, and is the result else.
#include <cmath>
#include <limits>
#include <optional>

#include "core/check.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/quantized/quantize_table.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

// Before opset 11 the bounds were attributes.
void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  drop_consumed_inputs(parser);
  size_t input = 1;
  for (const char* name : {"min", "max"}) {
    if (attrs.has(name)) parser.set_input(input, Tensor::scalar(attrs.f(name, 0.0f)));
    attrs.erase(name);
    ++input;
  }
}

template <class W>
std::optional<W> bound_of(const ConstView& view) {
  if (!view) return {};
  std::optional<W> value;
  visit_number(view.dtype,
               [&]<class T>() { value = static_cast<W>(static_cast<Wide<T>>(view.as<T>()[0])); });
  return value;
}

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  for (size_t i = 1; i < inference.inputs.size(); ++i) {
    if (!inference.has_input(i)) continue;
    const TensorType& bound = inference.inputs[i];
    // An f32 bound of a half-precision input comes from the attributes of old opsets.
    const Dtype dtype = inference.inputs[0].dtype;
    const bool half = dtype == Dtype::f16 || dtype == Dtype::bf16;
    const bool fits = bound.dtype == dtype || (half && bound.dtype == Dtype::f32);
    if (fits && bound.shape.elements() == 1) continue;
    fail(Error::Code::invalid_model, "bound {} is {}, expected a {} scalar", i, to_string(bound),
         dtype_name(dtype));
  }
  inference.same_as_input(0);
}

void verify(const Graph& graph, const Node& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* bound = graph.constant_input(node, i);
    if (bound == nullptr || bound->elements() != 1 || !is_real(bound->dtype())) continue;
    if (!std::isnan(bound_of<f64>(view(*bound)).value_or(0.0))) continue;
    fail(Error::Code::invalid_model, "{}: its {} is NaN, expected a number", describe(node),
         i == 1 ? "min" : "max");
  }
}

template <class W>
bool is_nan(W x) {
  return x != x;  // NOLINT: of integers, never
}

ConstView input_or_none(const Eval& eval, size_t i) {
  return eval.has_input(i) ? eval.inputs[i] : ConstView{};
}

void eval(const Eval& eval) {
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    using W = Wide<T>;
    const auto min = bound_of<W>(input_or_none(eval, 1));
    const auto max = bound_of<W>(input_or_none(eval, 2));
    const auto src = eval.inputs[0].as<T>();
    const auto dst = eval.outputs[0].as<T>();
    for (size_t i = 0; i < dst.size(); ++i) {
      W x = static_cast<W>(src[i]);
      if (min && !(x >= *min) && !is_nan(x)) x = *min;
      if (max && !(x <= *max) && !is_nan(x)) x = *max;
      dst[i] = static_cast<T>(x);
    }
  });
}

QuantizeResult quantize(const QuantizeRequest& request) {
  f64 bounds[2] = {-std::numeric_limits<f64>::infinity(), std::numeric_limits<f64>::infinity()};
  for (size_t i = 1; i <= 2; ++i) {
    if (request.node.input(i) == kNoValue) continue;
    const Tensor* constant = request.graph.constant_input(request.node, i);
    if (constant == nullptr) return {.node = {}, .reject = "its bounds are computed at run time"};
    bounds[i - 1] = bound_of<f64>(view(*constant)).value();
  }
  return quantize_table(request, [&](f64 x) {
    x = x < bounds[0] ? bounds[0] : x;
    return x > bounds[1] ? bounds[1] : x;
  });
}

constexpr FloatAttribute kFloats[] = {{"max", FloatDomain::number}, {"min", FloatDomain::number}};
constexpr OpTraits kTraits{.verify = verify, .floats = kFloats};

}  // namespace

extern constinit const OpDef kClip{.name = "Clip",
                                   .inputs = {1, 3},
                                   .parse = parse,
                                   .infer = infer,
                                   .eval = eval,
                                   .quant = {.kind = QuantKind::table, .quantize = quantize},
                                   .traits = &kTraits};
}  // namespace octet
