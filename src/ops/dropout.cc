// SPDX-License-Identifier: Apache-2.0
// Dropout(x): at inference nothing is dropped, so it parses to Identity; where its mask is read, it stays and the mask is
// all true. Dropping (training_mode) is refused.
#include <algorithm>

#include "graph/op_def.h"
#include "ops/node_parser.h"
#include "ops/strided.h"

namespace octet {
namespace {

bool drops_nothing(const NodeParser& parser) {
  if (!parser.has_input(2)) return true;
  const Tensor* training = parser.constant(2);
  if (training == nullptr || training->dtype() != Dtype::boolean || training->elements() != 1) {
    return false;
  }
  if (!training->as<bool>()[0]) return true;
  const Tensor* ratio = parser.constant(1);
  return ratio != nullptr && ratio->dtype() == Dtype::f32 && ratio->elements() == 1 &&
         ratio->as<f32>()[0] == 0.0f;
}

void parse(NodeParser& parser) {
  if (!drops_nothing(parser)) {
    fail(Error::Code::unsupported,
         "training mode is not supported; export the model for inference (training_mode false)");
  }
  parser.node.attrs = {};
  parser.node.inputs.resize(1);
  const bool has_mask = parser.node.outputs.size() > 1 && parser.node.outputs[1] != kNoValue;
  if (has_mask) return;
  parser.node.outputs.resize(1);
  parser.become("Identity");
}

void infer(Inference& inference) {
  inference.same_as_input(0);
  inference.output(Dtype::boolean, inference.inputs[0].shape);
}

void eval(const Eval& eval) {
  eval_copy(eval);
  if (eval.outputs.size() < 2) return;
  const auto mask = eval.outputs[1].as<bool>();
  std::fill(mask.begin(), mask.end(), true);
}

}  // namespace

extern constinit const OpDef kDropout{.name = "Dropout",
                                      .domain = "",
                                      .inputs = {1, 3},
                                      .outputs = {1, 2},
                                      .parse = parse,
                                      .infer = infer,
                                      .eval = eval};
}  // namespace octet
