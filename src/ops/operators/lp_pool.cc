// SPDX-License-Identifier: Apache-2.0
// LpPool: (sum of |x| ^ p) ^ (1 / p) of each window.
#include <cmath>

#include "core/check.h"
#include "core/math.h"
#include "ops/attributes/window.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/pool.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

struct LpPoolAttributes : PoolAttributes {
  s64 p = 2;

  OCTET_MORE_ATTRIBUTES(PoolAttributes, p)
};

s64 exponent(const Node& node) {
  const s64 p = attribute_of<&LpPoolAttributes::p>(node);
  if (p < 1 || p > 64) {
    fail(Error::Code::unsupported, "attribute 'p' is {}, expected a value in [1, 64]", p);
  }
  return p;
}

f32 power(f32 x, s64 p) {
  f32 result = x;
  for (s64 i = 1; i < p; ++i) result *= x;
  return result;
}

f32 root(f32 x, s64 p) {
  if (p == 1) return x;
  if (p == 2) return std::sqrt(x);
  return math_exp(math_log(x) / static_cast<f32>(p));
}

void infer(Inference& inference) {
  infer_real_pool(inference);
  exponent(inference.node);  // fails where it is none
}

void eval(const Eval& eval) {
  const PoolGeometry geometry = pool_geometry(eval.node, eval.inputs[0].shape);
  const auto& h = geometry.window.axes[1];
  const auto& w = geometry.window.axes[2];
  const s64 p = exponent(eval.node);
  const FloatInput src(eval, 0);
  const FloatOutput dst(eval.outputs[0]);
  for_each_window(geometry, [&](const PoolWindow& window) {
    const f32* plane = src.data() + window.plane * geometry.window.in_elements();
    f32 sum = 0.0f;
    for_each_tap(geometry.window, window, [&](s64 z, s64 y, s64 x) {
      sum += power(std::fabs(plane[(z * h.in + y) * w.in + x]), p);
    });
    dst[window.plane * geometry.window.out_elements() + window.output] = root(sum, p);
  });
  dst.store();
}

constexpr OpTraits kTraits{.work = pool_work};

}  // namespace

extern constinit const OpDef kLpPool{
    .name = "LpPool", .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
