// SPDX-License-Identifier: Apache-2.0
// Split(x, sizes?) {axis=0, num_outputs?}: pieces along one axis. Without sizes they are equal; with num_outputs the last
// may be smaller.
#include <cstring>

#include "core/checked.h"
#include "graph/op_def.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

void parse(NodeParser& parser) {
  if (parser.opset < 13) parser.ints_to_input("split", 1);
}

std::vector<s64> equal_sizes(const Node& node, s64 dim) {
  const auto pieces = static_cast<s64>(node.outputs.size());
  const s64 size = dim / pieces + (dim % pieces != 0);
  const s64 last = dim - size * (pieces - 1);
  const bool uneven = has_attribute<&SplitAttributes::num_outputs>(node);
  if (last < 0 || (last != size && !uneven)) {
    fail(kInvalid, "size {} cannot be split into {} pieces", dim, pieces);
  }
  std::vector<s64> sizes(node.outputs.size(), size);
  sizes.back() = last;
  return sizes;
}

std::vector<s64> given_sizes(Inference& inference, s64 dim) {
  std::vector<s64> sizes = inference.required_ints(1, "the sizes of a split");
  if (sizes.size() != inference.node.outputs.size()) {
    fail(kInvalid, "{} sizes are given for {} outputs", sizes.size(),
         inference.node.outputs.size());
  }
  s64 sum = 0;
  for (s64 size : sizes) {
    if (size < 0 || size > dim - sum) {
      fail(kInvalid, "the sizes of a split must be positive and add up to {}", dim);
    }
    sum += size;
  }
  if (sum != dim) fail(kInvalid, "the sizes of a split add up to {}, expected {}", sum, dim);
  return sizes;
}

void infer(Inference& inference) {
  const Node& node = inference.node;
  const TensorType& input = inference.inputs[0];
  const auto attributes = attributes_of<SplitAttributes>(node);
  const int axis = normalize_axis(attributes.axis, input.shape.rank());
  const auto outputs = static_cast<s64>(node.outputs.size());
  if (outputs == 0 || attributes.num_outputs.value_or(outputs) != outputs) {
    fail(kInvalid, "attribute 'num_outputs' is {}, the node has {} outputs",
         attributes.num_outputs.value_or(0), outputs);
  }
  const bool given = inference.has_input(1);
  for (s64 size :
       given ? given_sizes(inference, input.shape[axis]) : equal_sizes(node, input.shape[axis])) {
    Shape shape = input.shape;
    shape[axis] = size;
    inference.output(input.dtype, shape);
  }
}

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const int axis =
      normalize_axis(attribute_of<&SplitAttributes::axis>(eval.node), input.shape.rank());
  const auto element = static_cast<s64>(dtype_bytes(input.dtype));
  const s64 rows = dims_product(input.shape, 0, axis);
  const s64 row_bytes = dims_product(input.shape, axis, input.shape.rank()) * element;
  const auto* column = static_cast<const std::byte*>(input.data);
  for (const MutableView& output : eval.outputs) {
    const s64 bytes = dims_product(output.shape, axis, output.shape.rank()) * element;
    auto* dst = static_cast<std::byte*>(output.data);
    for (s64 row = 0; row < rows && bytes > 0 && dst != nullptr; ++row) {
      std::memcpy(dst + row * bytes, column + row * row_bytes, static_cast<size_t>(bytes));
    }
    column += bytes;
  }
}

}  // namespace

extern constinit const OpDef kSplit{.name = "Split",
                                    .inputs = {1, 2},
                                    .outputs = {1, -1},
                                    .parse = parse,
                                    .infer = infer,
                                    .eval = eval,
                                    .quant = kMovesCodes};
}  // namespace octet
