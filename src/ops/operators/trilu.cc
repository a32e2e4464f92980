// SPDX-License-Identifier: Apache-2.0
// Trilu(x[..., M, N], k?) {upper=1}: keeps the elements on and above (or below) the k-th diagonal, zero elsewhere.
#include <algorithm>

#include "graph/attributes.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

struct TriluAttributes {
  bool upper = true;

  OCTET_ATTRIBUTES(upper)
};

void infer(Inference& inference) {
  attributes_of<TriluAttributes>(inference.node);  // one of another kind fails here
  const Shape& shape = inference.inputs[0].shape;
  if (shape.rank() < 2) {
    fail(Error::Code::invalid_model, "the input is {}, expected at least two axes",
         to_string(shape));
  }
  if (inference.has_input(1)) {
    require_dtype(inference, 1, DtypeClass::index);
    if (inference.inputs[1].shape.elements() != 1) {
      fail(Error::Code::invalid_model, "k is {}, expected a scalar",
           to_string(inference.inputs[1]));
    }
  }
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  if (shape.elements() == 0) return;
  const s64 m = shape[shape.rank() - 2];
  const s64 n = shape[shape.rank() - 1];
  const bool upper = attribute_of<&TriluAttributes::upper>(eval.node);
  const s64 k = eval.has_input(1) ? std::clamp(read_ints(eval, 1)[0], -m, n) : 0;
  eval_copy(eval);
  visit_size(eval.outputs[0].dtype, [&]<class T>() {
    T* row = static_cast<T*>(eval.outputs[0].data);
    const s64 rows = shape.elements() / n;
    for (s64 r = 0; r < rows; ++r, row += n) {
      // Upper keeps columns from the diagonal on; lower keeps those up to it.
      const s64 diagonal = r % m + k;
      const s64 begin = upper ? 0 : std::clamp<s64>(diagonal + 1, 0, n);
      const s64 end = upper ? std::clamp<s64>(diagonal, 0, n) : n;
      std::fill(row + begin, row + end, T{});
    }
  });
}

}  // namespace

extern constinit const OpDef kTrilu{
    .name = "Trilu", .inputs = {1, 2}, .infer = infer, .eval = eval};
}  // namespace octet
