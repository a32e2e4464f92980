// SPDX-License-Identifier: Apache-2.0
// Reshape(x, shape): the same elements in another shape. 0 copies a dimension (unless allowzero), one -1 is computed.
#include <algorithm>

#include "core/checked.h"
#include "graph/attributes.h"
#include "ops/shared/forms.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/open_dims.h"

namespace octet {
namespace {

struct ReshapeAttributes {
  bool allowzero = false;

  OCTET_ATTRIBUTES(allowzero)
};

constexpr auto kInvalid = Error::Code::invalid_model;

void parse(NodeParser& parser) {
  drop_consumed_inputs(parser);
  if (parser.opset < 5) parser.ints_to_input("shape", 1);
}

// Zeros resolved; at most one -1 is left, and its axis returned (else -1).
int resolve_zeros(const Shape& input, bool allow_zero, std::vector<s64>& dims) {
  int unknown = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -1) fail(kInvalid, "the new shape has dimension {}", dims[i]);
    if (dims[i] == -1) {
      if (unknown >= 0) fail(kInvalid, "the new shape has more than one -1");
      unknown = static_cast<int>(i);
    }
    if (dims[i] != 0 || allow_zero) continue;
    if (i >= static_cast<size_t>(input.rank())) {
      fail(kInvalid, "the new shape copies dimension {} of {}, which has rank {}", i,
           to_string(input), input.rank());
    }
    dims[i] = input[static_cast<int>(i)];
  }
  return unknown;
}

void infer(Inference& inference) {
  if (dims_are_open(inference, 1)) {
    inference.output(inference.inputs[0].dtype, open_shape(length_of(inference, 1)));
    return;
  }
  const Shape& input = inference.inputs[0].shape;
  std::vector<s64> dims = inference.required_ints(1, "the new shape");
  const bool allow_zero = attribute_of<&ReshapeAttributes::allowzero>(inference.node);
  const bool has_zero = std::find(dims.begin(), dims.end(), 0) != dims.end();
  const int unknown = resolve_zeros(input, allow_zero, dims);
  if (unknown >= 0 && allow_zero && has_zero) {
    fail(kInvalid, "the new shape has both 0 and -1 with allowzero=1");
  }
  const s64 total = input.elements();
  if (unknown >= 0) {
    s64& dim = dims[static_cast<size_t>(unknown)];
    dim = 1;
    const s64 rest = Shape(dims).elements();
    if (rest == 0 || total % rest != 0) {
      fail(kInvalid, "{} elements cannot be divided by the {} of the other dimensions", total,
           rest);
    }
    dim = total / rest;
  }
  const Shape output(dims);
  if (output.elements() != total) {
    fail(kInvalid, "{} has {} elements, the new shape {} has {}", to_string(input), total,
         to_string(output), output.elements());
  }
  inference.output(inference.inputs[0].dtype, output);
}

}  // namespace

extern constinit const OpDef kReshape = reshaping("Reshape", {2, 2}, infer, parse);
}  // namespace octet
