// SPDX-License-Identifier: Apache-2.0
// Elementwise choice: x where the condition holds, else y, with broadcasting.
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::boolean);
  const TensorType& x = inference.inputs[1];
  const TensorType& y = inference.inputs[2];
  if (x.dtype != y.dtype) {
    fail(Error::Code::invalid_model, "inputs 1 and 2 have types {} and {}, expected one type",
         dtype_name(x.dtype), dtype_name(y.dtype));
  }
  inference.output(x.dtype,
                   broadcast_shapes(inference.inputs[0].shape, broadcast_shapes(x.shape, y.shape)));
}

void eval(const Eval& eval) {
  const Shape shapes[] = {eval.inputs[0].shape, eval.inputs[1].shape, eval.inputs[2].shape};
  const BroadcastRows rows(eval.outputs[0].shape, shapes);
  const bool* condition = eval.inputs[0].as<bool>().data();
  visit_size(eval.outputs[0].dtype, [&]<class T>() {
    const T* x = static_cast<const T*>(eval.inputs[1].data);
    const T* y = static_cast<const T*>(eval.inputs[2].data);
    T* dst = static_cast<T*>(eval.outputs[0].data);
    rows.for_each([&](s64 at, const BroadcastRows::Offsets& offsets) {
      for (s64 i = 0; i < rows.length(); ++i) {
        dst[at + i] = condition[offsets[0] + i * rows.step(0)] ? x[offsets[1] + i * rows.step(1)]
                                                               : y[offsets[2] + i * rows.step(2)];
      }
    });
  });
}

}  // namespace

extern constinit const OpDef kWhere{
    .name = "Where", .inputs = {3, 3}, .infer = infer, .eval = eval};
}  // namespace octet
