// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"

namespace octet {
namespace {

void infer(Inference& inference) { inference.same_as_input(0); }

void eval(const Eval& eval) {
  auto src = eval.inputs[0].as<f32>();
  auto dst = eval.outputs[0].as<f32>();
  for (size_t i = 0; i < dst.size(); ++i) dst[i] = src[i] > 0.0f ? src[i] : 0.0f;
}

}  // namespace

extern constinit const OpDef kRelu{
    .name = "Relu", .domain = "", .inputs = {1, 1}, .outputs = {1, 1}, .infer = infer, .eval = eval};
}  // namespace octet
