// SPDX-License-Identifier: Apache-2.0
// MaxPool of any numeric type, codes included; NaN wins; the optional second output holds the positions in the input.
#include <limits>

#include "core/check.h"
#include "ops/attributes/window.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/pool.h"
#include "ops/shared/work.h"

namespace octet {
namespace {

struct MaxPoolAttributes : PoolAttributes {
  bool storage_order = false;  // positions count column by column

  OCTET_MORE_ATTRIBUTES(PoolAttributes, storage_order)
};

void infer(Inference& inference) {
  const TensorType& x = inference.inputs[0];
  require_dtype(inference, 0, DtypeClass::number);
  const PoolGeometry geometry = pool_geometry(inference.node, x.shape);
  attributes_of<MaxPoolAttributes>(inference.node);
  inference.output(x.dtype, geometry.output_shape());
  if (inference.node.outputs.size() > 1) inference.output(Dtype::s64, geometry.output_shape());
}

template <class W>
constexpr W lowest() {
  if constexpr (std::numeric_limits<W>::has_infinity) return -std::numeric_limits<W>::infinity();
  return std::numeric_limits<W>::lowest();
}

template <class T>
void pool(const Eval& eval, std::span<s64> indices) {
  const PoolGeometry geometry = pool_geometry(eval.node, eval.inputs[0].shape);
  const auto& d = geometry.window.axes[0];
  const auto& h = geometry.window.axes[1];
  const auto& w = geometry.window.axes[2];
  const bool column_major = attribute_of<&MaxPoolAttributes::storage_order>(eval.node);
  const s64 in = geometry.window.in_elements();
  const T* src = eval.inputs[0].as<T>().data();
  T* dst = eval.outputs[0].as<T>().data();
  for_each_window(geometry, [&](const PoolWindow& window) {
    const T* plane = src + window.plane * in;
    Wide<T> best = lowest<Wide<T>>();
    s64 best_at = 0;
    for_each_tap(geometry.window, window, [&](s64 z, s64 y, s64 x) {
      const Wide<T> value = static_cast<Wide<T>>(plane[(z * h.in + y) * w.in + x]);
      // NaN wins, the first of several.
      const bool first_nan = value != value && best == best;  // NOLINT: of integers, never
      if (!(value > best) && !first_nan) return;
      best = value;
      best_at = column_major ? z + (y + x * h.in) * d.in : (z * h.in + y) * w.in + x;
    });
    const s64 output = window.plane * geometry.window.out_elements() + window.output;
    dst[output] = narrow<T>(best);
    if (!indices.empty()) indices[static_cast<size_t>(output)] = window.plane * in + best_at;
  });
}

void eval(const Eval& eval) {
  const bool indexed = eval.outputs.size() > 1 && eval.outputs[1].data != nullptr;
  visit_number(eval.inputs[0].dtype, [&]<class T>() {
    pool<T>(eval, indexed ? eval.outputs[1].as<s64>() : std::span<s64>());
  });
}

constexpr OpTraits kTraits{.work = pool_work};

}  // namespace

extern constinit const OpDef kMaxPool{.name = "MaxPool",
                                      .outputs = {1, 2},
                                      .infer = infer,
                                      .eval = eval,
                                      .quant = kMovesCodes,
                                      .traits = &kTraits};
}  // namespace octet
