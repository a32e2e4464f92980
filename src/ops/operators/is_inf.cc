// SPDX-License-Identifier: Apache-2.0
// true where an element is infinite; attributes detect_negative and detect_positive say which sign counts.
#include <cmath>

#include "graph/op_def.h"
#include "ops/attributes/functions.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  attributes_of<IsInfAttributes>(inference.node);
  inference.output(Dtype::boolean, inference.inputs[0].shape);
}

void eval(const Eval& eval) {
  const auto attributes = attributes_of<IsInfAttributes>(eval.node);
  const auto y = eval.outputs[0].as<bool>();
  visit_real(eval.inputs[0].dtype, [&]<class T>() {
    const auto x = eval.inputs[0].as<T>();
    for (size_t i = 0; i < y.size(); ++i) {
      const auto value = static_cast<Wide<T>>(x[i]);
      y[i] = std::isinf(value) &&
             (value < 0 ? attributes.detect_negative : attributes.detect_positive);
    }
  });
}

}  // namespace

extern constinit const OpDef kIsInf{.name = "IsInf", .infer = infer, .eval = eval};
}  // namespace octet
