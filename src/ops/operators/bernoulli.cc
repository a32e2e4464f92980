// SPDX-License-Identifier: Apache-2.0
// Bernoulli(p) {dtype, seed}: 1 with probability p, else 0.
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/random.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  infer_random_like(inference);
}

void eval(const Eval& eval) {
  RandomStream stream(eval.node);
  const FloatInput p(eval.inputs[0]);
  visit_dtype(eval.outputs[0].dtype, [&]<class T>() {
    const auto y = eval.outputs[0].as<T>();
    for (size_t i = 0; i < y.size(); ++i) {
      const bool one = stream.uniform() < static_cast<f64>(p.values()[i]);
      y[i] = static_cast<T>(static_cast<Wide<T>>(one));
    }
  });
}

}  // namespace

extern constinit const OpDef kBernoulli{
    .name = "Bernoulli", .parse = parse_random, .infer = infer, .eval = eval};
}  // namespace octet
