// SPDX-License-Identifier: Apache-2.0
// QTable: y = table[x], a unary function between two quantized tensors.
#include "core/check.h"
#include "graph/op_traits.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/forms_of_codes.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  const TensorType& x = inference.inputs[0];
  const TensorType& table = inference.inputs[1];
  if (!is_code(x.dtype) || !is_code(table.dtype) || table.shape != Shape{256}) {
    fail(Error::Code::invalid_model, "input {} and table {}, expected u8 or s8 and 256 codes",
         to_string(x), to_string(table));
  }
  inference.output(table.dtype, x.shape);
}

void eval(const Eval& eval) {
  const ConstView& x = eval.inputs[0];
  const size_t count = static_cast<size_t>(x.shape.elements());
  for (size_t i = 0; i < count; ++i) {
    store_code(eval.outputs[0], i, code_at(eval.inputs[1], table_index(code_at(x, i), x.dtype)));
  }
}

constexpr OpTraits kTraits{.codes = CodeMeaning::table};

}  // namespace

extern constinit const OpDef kQTable = on_codes("QTable", {2, 2}, infer, eval, &kTraits);
}  // namespace octet
