// SPDX-License-Identifier: Apache-2.0
// Elementwise mean of any number of broadcast inputs: their sum from left to right, then one division.
#include "graph/op_def.h"
#include "ops/shared/elementwise.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  infer_broadcast(inference);
}

// The f32 sum of 16-bit inputs is not rounded between the terms.
template <class T>
void mean(const Eval& eval) {
  using W = Wide<T>;
  const MutableView& dst = eval.outputs[0];
  Tensor sum(DtypeOf<W>::value, dst.shape);
  const auto total = sum.mutable_as<W>();
  for (const ConstView& input : eval.inputs) {
    const Shape shapes[] = {input.shape};
    const BroadcastRows rows(dst.shape, shapes);
    const T* src = input.as<T>().data();
    rows.for_each([&](s64 at, const BroadcastRows::Offsets& offsets) {
      for (s64 i = 0; i < rows.length(); ++i) {
        total[static_cast<size_t>(at + i)] += static_cast<W>(src[offsets[0] + i * rows.step(0)]);
      }
    });
  }
  const auto out = dst.as<T>();
  const W count = static_cast<W>(eval.inputs.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = narrow<T>(total[i] / count);
}

void eval(const Eval& eval) {
  visit_real(eval.outputs[0].dtype, [&]<class T>() { mean<T>(eval); });
}

}  // namespace

extern constinit const OpDef kMean{
    .name = "Mean", .inputs = {1, -1}, .parse = drop_consumed_inputs, .infer = infer, .eval = eval};
}  // namespace octet
