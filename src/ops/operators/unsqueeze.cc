// SPDX-License-Identifier: Apache-2.0
// Unsqueeze(x, axes): inserts axes of size 1; the axes are those of the result.
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
  const std::vector<s64> wanted = inference.required_ints(1, "the axes");
  if (wanted.size() + static_cast<size_t>(input.shape.rank()) > Shape::kMaxRank) {
    fail(Error::Code::unsupported, "{} new axes make {} a tensor of more than {} dimensions",
         wanted.size(), to_string(input.shape), Shape::kMaxRank);
  }
  const int rank = input.shape.rank() + static_cast<int>(wanted.size());
  const std::vector<int> axes = normalize_axes(wanted, rank);
  Shape output;
  for (int i = 0, own = 0; i < rank; ++i) {
    const bool added = std::find(axes.begin(), axes.end(), i) != axes.end();
    output.push_back(added ? 1 : input.shape[own++]);
  }
  inference.output(input.dtype, output);
}

}  // namespace

extern constinit const OpDef kUnsqueeze = reshaping("Unsqueeze", {2, 2}, infer, parse);
}  // namespace octet
