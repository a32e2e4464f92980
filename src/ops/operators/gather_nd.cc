// SPDX-License-Identifier: Apache-2.0
// GatherND(x, indices) {batch_dims=0}: slices of x picked by index tuples, the rows of the last axis of the indices.
#include <cstring>

#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/indexing.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

int batch_dims_of(const Node& node, const Shape& data, const Shape& indices) {
  const s64 batch_dims = attribute_of<&GatherNDAttributes::batch_dims>(node);
  if (batch_dims < 0 || batch_dims >= data.rank() || batch_dims >= indices.rank()) {
    fail(kInvalid, "attribute 'batch_dims' is {} for data of rank {} and indices of rank {}",
         batch_dims, data.rank(), indices.rank());
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (data[i] == indices[i]) continue;
    fail(kInvalid, "batch axis {} is {} in the data and {} in the indices", i, data[i], indices[i]);
  }
  return static_cast<int>(batch_dims);
}

void infer(Inference& inference) {
  require_dtype(inference, 1, DtypeClass::index);
  const Shape& data = inference.inputs[0].shape;
  const Shape& indices = inference.inputs[1].shape;
  const int batch_dims = batch_dims_of(inference.node, data, indices);
  const s64 width = indices[indices.rank() - 1];
  if (width < 1 || width > data.rank() - batch_dims) {
    fail(kInvalid, "index tuples have {} entries, expected 1 to {}", width,
         data.rank() - batch_dims);
  }
  Shape output(indices.dims().first(static_cast<size_t>(indices.rank() - 1)));
  for (int i = batch_dims + static_cast<int>(width); i < data.rank(); ++i) {
    output.push_back(data[i]);
  }
  inference.output(inference.inputs[0].dtype, output);
}

void eval(const Eval& eval) {
  const ConstView& data = eval.inputs[0];
  const ConstView& indices = eval.inputs[1];
  if (indices.shape.elements() == 0) return;
  const int batch_dims = batch_dims_of(eval.node, data.shape, indices.shape);
  const auto element = static_cast<s64>(dtype_bytes(data.dtype));
  const auto width = static_cast<int>(indices.shape[indices.shape.rank() - 1]);
  const s64 bytes = dims_product(data.shape, batch_dims + width, data.shape.rank()) * element;
  const auto* src = static_cast<const std::byte*>(data.data);
  auto* dst = static_cast<std::byte*>(eval.outputs[0].data);
  for (const s64 offset : tuple_offsets(indices, read_ints(eval, 1), data.shape, batch_dims)) {
    if (bytes == 0) break;
    std::memcpy(dst, src + offset * element, static_cast<size_t>(bytes));
    dst += bytes;
  }
}

}  // namespace

extern constinit const OpDef kGatherND{
    .name = "GatherND", .inputs = {2, 2}, .infer = infer, .eval = eval, .quant = kMovesCodes};
}  // namespace octet
