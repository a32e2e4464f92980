// SPDX-License-Identifier: Apache-2.0
// Squeeze(x, axes?): drops the given axes of size 1, or all of them.
#include <algorithm>

#include "ops/shared/axes.h"
#include "ops/shared/forms.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

void parse(NodeParser& parser) {
  if (parser.opset < 13) parser.ints_to_input("axes", 1);
}

void infer(Inference& inference) {
  const TensorType& input = inference.inputs[0];
  const bool all = !inference.has_input(1);
  std::vector<int> axes;
  if (!all) axes = normalize_axes(inference.required_ints(1, "the axes"), input.shape.rank());
  Shape output;
  for (int i = 0; i < input.shape.rank(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (named && input.shape[i] != 1) {
      fail(Error::Code::invalid_model, "axis {} of {} has size {}, expected 1", i,
           to_string(input.shape), input.shape[i]);
    }
    if (!named && !(all && input.shape[i] == 1)) output.push_back(input.shape[i]);
  }
  inference.output(input.dtype, output);
}

}  // namespace

extern constinit const OpDef kSqueeze = reshaping("Squeeze", {1, 2}, infer, parse);
}  // namespace octet
