// SPDX-License-Identifier: Apache-2.0
// The same bytes as elements of another type of the same size, attribute to.
#include <cstring>

#include "core/check.h"
#include "core/small_types.h"
#include "graph/op_def.h"
#include "ops/attributes/codes.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

// The canonical attribute is our name of the type, as in Cast.
void parse(NodeParser& parser) {
  const Dtype to = dtype_from_onnx(parser.node.attrs.i("to"));
  set_attribute<&CastAttributes::to>(parser.node.attrs, to);
}

void infer(Inference& inference) {
  const TensorType& x = inference.inputs[0];
  const Dtype to = attribute_of<&CastAttributes::to>(inference.node);
  // Elements of fewer bits than a byte have a byte each here, but not where the model comes from.
  const bool packed = (is_small_dtype(to) && small_bits(to) < 8) ||
                      (is_small_dtype(x.dtype) && small_bits(x.dtype) < 8);
  if (packed || dtype_bytes(to) != dtype_bytes(x.dtype) || to == Dtype::boolean) {
    fail(Error::Code::unsupported, "the bits of {} cannot be read as {}", dtype_name(x.dtype),
         dtype_name(to));
  }
  inference.output(to, x.shape);
}

void eval(const Eval& eval) {
  const TensorType type{eval.outputs[0].dtype, eval.outputs[0].shape};
  const size_t bytes = static_cast<size_t>(type.bytes());
  if (bytes != 0) std::memcpy(eval.outputs[0].data, eval.inputs[0].data, bytes);
}

}  // namespace

extern constinit const OpDef kBitCast{
    .name = "BitCast", .parse = parse, .infer = infer, .eval = eval};
}  // namespace octet
