// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/signal_window.h"

#include <cmath>
#include <numbers>

#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/node_parser.h"

namespace octet {

namespace {

struct SignalWindowAttributes {
  Dtype output_datatype = Dtype::f32;
  bool periodic = true;

  OCTET_ATTRIBUTES(output_datatype, periodic)
};

}  // namespace

// The canonical attribute is our name of the type, as in Cast.
void parse_signal_window(NodeParser& parser) {
  const Dtype dtype = dtype_from_onnx(parser.node.attrs.i("output_datatype", 1));
  set_attribute<&SignalWindowAttributes::output_datatype>(parser.node.attrs, dtype);
}

void infer_signal_window(Inference& inference) {
  const std::vector<s64> size = inference.required_ints(0, "the size");
  const Dtype dtype = attributes_of<SignalWindowAttributes>(inference.node).output_datatype;
  if (size.size() != 1 || size[0] < 0 || dtype == Dtype::boolean) {
    fail(Error::Code::invalid_model, "a window of {} needs one size of at least 0",
         dtype_name(dtype));
  }
  inference.output(dtype, Shape{size[0]});
}

void eval_signal_window(const Eval& eval, const SignalWindow& window) {
  const s64 size = eval.outputs[0].shape[0];
  const bool periodic = attribute_of<&SignalWindowAttributes::periodic>(eval.node);
  const f64 last = static_cast<f64>(periodic || size == 1 ? size : size - 1);
  visit_number(eval.outputs[0].dtype, [&]<class T>() {
    const auto y = eval.outputs[0].as<T>();
    for (size_t i = 0; i < y.size(); ++i) {
      const f64 x = 2.0 * std::numbers::pi * static_cast<f64>(i) / last;
      const f64 value = window.a0 - window.a1 * std::cos(x) + window.a2 * std::cos(2.0 * x);
      y[i] = static_cast<T>(static_cast<Wide<T>>(value));
    }
  });
}

}  // namespace octet
