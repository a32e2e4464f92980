// SPDX-License-Identifier: Apache-2.0
// LpPool: (sum of |x| ^ p) ^ (1 / p) of each window; p is 1 or 2.
#include <cmath>

#include "core/check.h"
#include "ops/axes.h"
#include "ops/float_io.h"
#include "ops/pool.h"

namespace octet {
namespace {

bool is_euclidean(const Node& node) {
  const s64 p = node.attrs.i("p", 2);
  if (p != 1 && p != 2) {
    fail(Error::Code::unsupported, "attribute 'p' is {}; only 1 and 2 are supported", p);
  }
  return p == 2;
}

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  is_euclidean(inference.node);
  const TensorType& x = inference.inputs[0];
  inference.output(x.dtype, pool_geometry(inference.node, x.shape).output_shape());
}

void eval(const Eval& eval) {
  const PoolGeometry geometry = pool_geometry(eval.node, eval.inputs[0].shape);
  const auto& [d, h, w] = geometry.window.axes;
  const bool euclidean = is_euclidean(eval.node);
  const FloatInput src(eval, 0);
  const FloatOutput dst(eval.outputs[0]);
  for_each_window(geometry, [&](const PoolWindow& window) {
    const f32* plane = src.data() + window.plane * geometry.window.in_elements();
    f32 sum = 0.0f;
    for_each_tap(geometry.window, window, [&](s64 z, s64 y, s64 x) {
      const f32 value = plane[(z * h.in + y) * w.in + x];
      sum += euclidean ? value * value : std::fabs(value);
    });
    dst[window.plane * geometry.window.out_elements() + window.output] =
        euclidean ? std::sqrt(sum) : sum;
  });
  dst.store();
}

}  // namespace

extern constinit const OpDef kLpPool{.name = "LpPool",
                                     .domain = "",
                                     .inputs = {1, 1},
                                     .outputs = {1, 1},
                                     .infer = infer,
                                     .eval = eval};
}  // namespace octet
