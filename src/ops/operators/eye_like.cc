// SPDX-License-Identifier: Apache-2.0
// EyeLike: ones on diagonal k of a matrix with the shape of the input, zeros elsewhere; attribute dtype names the type.
#include <algorithm>

#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

struct EyeLikeAttributes {
  std::optional<Dtype> dtype;  // absent: the input's
  s64 k = 0;                   // the diagonal

  OCTET_ATTRIBUTES(dtype, k)
};

// The canonical attribute is our name of the type, as in Cast.
void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  if (!attrs.has("dtype")) return;
  set_attribute<&EyeLikeAttributes::dtype>(attrs, dtype_from_onnx(attrs.i("dtype")));
}

void infer(Inference& inference) {
  const TensorType& x = inference.inputs[0];
  const auto attributes = attributes_of<EyeLikeAttributes>(inference.node);
  if (x.shape.rank() != 2) {
    fail(Error::Code::invalid_model, "the input is {}, expected a matrix", to_string(x));
  }
  inference.output(attributes.dtype.value_or(x.dtype), x.shape);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.outputs[0].shape;
  const s64 k = attribute_of<&EyeLikeAttributes::k>(eval.node);
  visit_dtype(eval.outputs[0].dtype, [&]<class T>() {
    const auto y = eval.outputs[0].as<T>();
    std::fill(y.begin(), y.end(), T{});
    if (k <= -shape[0] || k >= shape[1]) return;
    for (s64 row = std::max<s64>(0, -k); row < shape[0] && row + k < shape[1]; ++row) {
      y[static_cast<size_t>(row * shape[1] + row + k)] = static_cast<T>(1.0f);
    }
  });
}

}  // namespace

extern constinit const OpDef kEyeLike{
    .name = "EyeLike", .parse = parse, .infer = infer, .eval = eval};
}  // namespace octet
