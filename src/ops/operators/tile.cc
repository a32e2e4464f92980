// SPDX-License-Identifier: Apache-2.0
// Tile(x, repeats): x repeated along each axis.
#include "core/checked.h"
#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_maps.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/open_dims.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  if (parser.opset < 6) {
    fail(Error::Code::unsupported,
         "Tile of opset {} has another meaning; convert the model to opset 6 or later",
         parser.opset);
  }
}

void infer(Inference& inference) {
  const TensorType& input = inference.inputs[0];
  if (dims_are_open(inference, 1)) {
    inference.output(input.dtype, open_shape(input.shape.rank()));
    return;
  }
  const std::vector<s64> repeats = inference.required_ints(1, "the repeats of a tile");
  if (repeats.size() != static_cast<size_t>(input.shape.rank())) {
    fail(Error::Code::invalid_model, "{} repeats are given for an input of rank {}", repeats.size(),
         input.shape.rank());
  }
  Shape output;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const auto dim = checked_mul(input.shape[static_cast<int>(i)], repeats[i]);
    if (repeats[i] < 0 || !dim) {
      fail(Error::Code::invalid_model, "axis {} of size {} is repeated {} times", i,
           input.shape[static_cast<int>(i)], repeats[i]);
    }
    output.push_back(*dim);
  }
  inference.output(input.dtype, output);
}

void eval(const Eval& eval) {
  const Shape& input = eval.inputs[0].shape;
  if (eval.outputs[0].shape.elements() == 0) return;  // one axis may still be huge
  AxisMaps maps;
  for (int d = 0; d < input.rank(); ++d) {
    std::vector<s64> map(static_cast<size_t>(eval.outputs[0].shape[d]));
    for (size_t i = 0; i < map.size(); ++i) map[i] = static_cast<s64>(i) % input[d];
    maps.push_back(std::move(map));
  }
  mapped_copy(maps, eval.inputs[0], eval.outputs[0]);
}

}  // namespace

extern constinit const OpDef kTile{.name = "Tile",
                                   .inputs = {2, 2},
                                   .parse = parse,
                                   .infer = infer,
                                   .eval = eval,
                                   .quant = kMovesCodes};
}  // namespace octet
