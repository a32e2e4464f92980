// SPDX-License-Identifier: Apache-2.0
// QMul: t = fl((a - zp_a) * (b - zp_b) * multiplier), the integer product exact.
#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/zero_points.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& a = inference.inputs[0];
  const TensorType& b = inference.inputs[1];
  if (!is_code(a.dtype) || !is_code(b.dtype)) {
    fail(Error::Code::invalid_model, "inputs {} and {}, expected u8 or s8", to_string(a),
         to_string(b));
  }
  attributes_of<QMulAttributes>(inference.node);
  infer_code_output(inference, broadcast_shapes(a.shape, b.shape));
}

void eval(const Eval& eval) {
  const Epilogue epilogue = epilogue_of(eval.node);
  const f32 multiplier = attribute_of<&QMulAttributes::multiplier>(eval.node);
  const Shape shapes[] = {eval.inputs[0].shape, eval.inputs[1].shape};
  const BroadcastRows rows(eval.outputs[0].shape, shapes);
  rows.for_each([&](s64 at, const BroadcastRows::Offsets& offsets) {
    for (s64 i = 0; i < rows.length(); ++i) {
      const size_t ia = static_cast<size_t>(offsets[0] + i * rows.step(0));
      const size_t ib = static_cast<size_t>(offsets[1] + i * rows.step(1));
      const s32 a = code_at(eval.inputs[0], ia) - epilogue.zero_point(0);
      const s32 b = code_at(eval.inputs[1], ib) - epilogue.zero_point(1);
      const f32 t = static_cast<f32>(a * b) * multiplier;
      store_code(eval.outputs[0], static_cast<size_t>(at + i), to_code(epilogue, t));
    }
  });
}

constexpr OpTraits kTraits{.codes = CodeMeaning::attributes, .verify = verify_zero_points};

}  // namespace

extern constinit const OpDef kQMul{.name = "QMul",
                                   .domain = "octet",
                                   .inputs = {2, 2},
                                   .outputs = {1, 1},
                                   .infer = infer,
                                   .eval = eval,
                                   .traits = &kTraits};
}  // namespace octet
