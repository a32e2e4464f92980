// SPDX-License-Identifier: Apache-2.0
// Concat(x...) {axis}: tensors of equal shape but for one axis, laid one after another along it.
#include <cstring>

#include "core/checked.h"
#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  if (parser.opset < 4 && !has_attribute<&ConcatAttributes::axis>(parser.node))
    set_attribute<&ConcatAttributes::axis>(parser.node.attrs, 1);
}

void infer(Inference& inference) {
  require_same_dtypes(inference);
  Shape output = inference.inputs[0].shape;
  const int axis =
      normalize_axis(attribute_of<&ConcatAttributes::axis>(inference.node), output.rank());
  for (size_t i = 1; i < inference.inputs.size(); ++i) {
    const Shape& shape = inference.inputs[i].shape;
    bool fits = shape.rank() == output.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) fits = d == axis || shape[d] == output[d];
    const auto sum = fits ? checked_add(output[axis], shape[axis]) : std::nullopt;
    if (!sum) {
      fail(Error::Code::invalid_model, "input {} is {}, which does not join {} along axis {}", i,
           to_string(shape), to_string(output), axis);
    }
    output[axis] = *sum;
  }
  inference.output(inference.inputs[0].dtype, output);
}

void eval(const Eval& eval) {
  const MutableView& output = eval.outputs[0];
  const int axis =
      normalize_axis(attribute_of<&ConcatAttributes::axis>(eval.node), output.shape.rank());
  const auto element = static_cast<s64>(dtype_bytes(output.dtype));
  const s64 rows = dims_product(output.shape, 0, axis);
  const s64 row_bytes = dims_product(output.shape, axis, output.shape.rank()) * element;
  auto* column = static_cast<std::byte*>(output.data);
  for (const ConstView& input : eval.inputs) {
    const s64 bytes = dims_product(input.shape, axis, input.shape.rank()) * element;
    const auto* src = static_cast<const std::byte*>(input.data);
    if (bytes == 0) continue;
    for (s64 row = 0; row < rows; ++row) {
      std::memcpy(column + row * row_bytes, src + row * bytes, static_cast<size_t>(bytes));
    }
    column += bytes;
  }
}

}  // namespace

extern constinit const OpDef kConcat{.name = "Concat",
                                     .inputs = {1, -1},
                                     .parse = parse,
                                     .infer = infer,
                                     .eval = eval,
                                     .quant = {.kind = QuantKind::move_codes, .moved_input = -1}};
}  // namespace octet
