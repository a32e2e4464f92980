// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: inputs [N, C, ...], classes [N, ...], optional weights [C].
#pragma once

#include <span>

#include "graph/op_def.h"

namespace octet {

struct LossGeometry {
  s64 images = 0;
  s64 classes = 0;
  s64 pixels = 0;

  s64 at(s64 image, s64 c, s64 pixel) const { return (image * classes + c) * pixels + pixel; }
};

LossGeometry loss_geometry(const Shape& input);
// Checks the inputs and outputs the type of the loss.
void infer_loss(Inference& inference);
// Stores the loss of these log probabilities, which have the shape of input 0, to output 0.
void eval_loss(const Eval& eval, std::span<const f32> log_probabilities);

}  // namespace octet
