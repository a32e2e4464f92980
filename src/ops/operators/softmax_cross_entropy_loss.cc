// SPDX-License-Identifier: Apache-2.0
// SoftmaxCrossEntropyLoss: NegativeLogLikelihoodLoss of the LogSoftmax over axis 1, which is the optional second output.
#include <algorithm>
#include <vector>

#include "core/math.h"
#include "core/reduce.h"
#include "ops/shared/float_io.h"
#include "ops/shared/loss.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  infer_loss(inference);
  if (inference.node.outputs.size() > 1) inference.same_as_input(0);
}

// The formula of LogSoftmax.
std::vector<f32> log_softmax(const FloatInput& x, const LossGeometry& geometry) {
  std::vector<f32> y(x.values().size());
  for (s64 row = 0; row < geometry.images * geometry.pixels; ++row) {
    const s64 first = geometry.at(row / geometry.pixels, 0, row % geometry.pixels);
    const auto score = [&](s64 c) { return x[first + c * geometry.pixels]; };
    const f32 max = lane_max(geometry.classes, score);
    const f32 log_sum =
        math_log(lane_sum(geometry.classes, [&](s64 c) { return math_exp(score(c) - max); }));
    for (s64 c = 0; c < geometry.classes; ++c) {
      y[static_cast<size_t>(first + c * geometry.pixels)] = (score(c) - max) - log_sum;
    }
  }
  return y;
}

void eval(const Eval& eval) {
  const FloatInput x(eval, 0);
  std::vector<f32> log_probabilities;
  if (!x.values().empty()) log_probabilities = log_softmax(x, loss_geometry(eval.inputs[0].shape));
  eval_loss(eval, log_probabilities);
  if (eval.outputs.size() < 2 || eval.outputs[1].data == nullptr) return;
  const FloatOutput y(eval.outputs[1]);
  std::copy(log_probabilities.begin(), log_probabilities.end(), y.data());
  y.store();
}

}  // namespace

extern constinit const OpDef kSoftmaxCrossEntropyLoss{.name = "SoftmaxCrossEntropyLoss",
                                                      .inputs = {2, 3},
                                                      .outputs = {1, 2},
                                                      .infer = infer,
                                                      .eval = eval};
}  // namespace octet
