// SPDX-License-Identifier: Apache-2.0
// true where an element is not a number.
#include <cmath>

#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  inference.output(Dtype::boolean, inference.inputs[0].shape);
}

void eval(const Eval& eval) {
  const FloatInput x(eval, 0);
  const auto y = eval.outputs[0].as<bool>();
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::isnan(x.values()[i]);
}

}  // namespace

extern constinit const OpDef kIsNaN{.name = "IsNaN", .infer = infer, .eval = eval};
}  // namespace octet
