// SPDX-License-Identifier: Apache-2.0
// LRN: x / (bias + alpha / size * sum of squares of `size` neighbouring channels) ^ beta.
#include <algorithm>

#include "core/check.h"
#include "core/math.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

LrnAttributes parameters(const Node& node) {
  const auto p = attributes_of<LrnAttributes>(node);
  if (p.size < 1)
    fail(Error::Code::invalid_model, "attribute 'size' is {}, expected at least 1", p.size);
  return p;
}

void infer(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::real);
  parameters(inference.node);
  if (inference.inputs[0].shape.rank() < 2) {
    fail(Error::Code::invalid_model, "input {} has no channels; expected [N, C, ...]",
         to_string(inference.inputs[0]));
  }
  inference.same_as_input(0);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const LrnAttributes p = parameters(eval.node);
  const s64 channels = shape[1];
  const s64 pixels = dims_product(shape, 2, shape.rank());
  const FloatInput x(eval, 0);
  const FloatOutput y(eval.outputs[0]);
  const f32 factor = p.alpha / static_cast<f32>(p.size);
  const s64 before = std::min((p.size - 1) / 2, channels);
  const s64 after = std::min(p.size - 1 - (p.size - 1) / 2, channels);
  for (s64 i = 0; i < std::ssize(y.values()); ++i) {
    const s64 c = i / pixels % channels;
    const s64 own = i - c * pixels;
    f32 squares = 0.0f;
    for (s64 j = std::max<s64>(c - before, 0); j <= std::min(c + after, channels - 1); ++j) {
      squares += x[own + j * pixels] * x[own + j * pixels];
    }
    y[i] = x[i] * math_exp(-p.beta * math_log(p.bias + factor * squares));
  }
  y.store();
}

// Each element reads the squares of its neighbours.
f64 work(const Node& node, TensorTypes inputs, TensorTypes) {
  const Shape& x = inputs[0].shape;
  return element_count(x) * static_cast<f64>(std::min(parameters(node).size, x[1]) + 1);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kLRN{.name = "LRN", .infer = infer, .eval = eval, .traits = &kTraits};
}  // namespace octet
