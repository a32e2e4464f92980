// SPDX-License-Identifier: Apache-2.0
// CausalConvWithState(x[N, C, L], w[C, 1, K], bias?, past[N, C, K-1]?): each channel is convolved with its own kernel over the
// present and past positions; the second output is the past for the next call.
#include <array>
#include <string>

#include "core/check.h"
#include "core/math.h"
#include "core/reduce.h"
#include "graph/attributes.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

enum : size_t { kX, kWeights, kBias, kPast };

enum class StateActivation : u8 { none, swish };

constexpr auto attribute_words(StateActivation) {
  return std::to_array<AttributeWord<StateActivation>>({{"none", StateActivation::none},
                                                        {"silu", StateActivation::swish},
                                                        {"swish", StateActivation::swish}});
}

struct CausalConvAttributes {
  StateActivation activation = StateActivation::none;

  OCTET_ATTRIBUTES(activation)
};

bool has_swish(const Node& node) {
  return attribute_of<&CausalConvAttributes::activation>(node) == StateActivation::swish;
}

void infer(Inference& inference) {
  const Shape &x = inference.inputs[kX].shape, &weights = inference.inputs[kWeights].shape;
  require_dtype(inference, kX, DtypeClass::real);
  require_same_dtypes(inference);
  has_swish(inference.node);
  if (x.rank() != 3 || weights.rank() != 3 || weights != Shape{x[1], 1, weights[2]} ||
      weights[2] < 1) {
    fail(Error::Code::invalid_model, "the input is {} and the weights are {}; they do not fit",
         to_string(x), to_string(weights));
  }
  const Shape state{x[0], x[1], weights[2] - 1};
  const bool fits = (!inference.has_input(kBias) || inference.inputs[kBias].shape == Shape{x[1]}) &&
                    (!inference.has_input(kPast) || inference.inputs[kPast].shape == state);
  if (!fits) {
    fail(Error::Code::invalid_model, "the bias is not {} values, or the past is not {}", x[1],
         to_string(state));
  }
  inference.same_as_input(kX);
  if (inference.node.outputs.size() > 1) inference.output(inference.inputs[kX].dtype, state);
}

// Position i of a channel, where those below 0 are the past.
class Line {
 public:
  Line(const f32* now, const f32* past, s64 memory) : now_(now), past_(past), memory_(memory) {}
  f32 operator[](s64 i) const {
    if (i >= 0) return now_[i];
    return past_ == nullptr ? 0.0f : past_[memory_ + i];
  }

 private:
  const f32* now_;
  const f32* past_;
  s64 memory_;
};

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[kX].shape;
  const s64 length = shape[2], taps = eval.inputs[kWeights].shape[2], memory = taps - 1;
  const bool swish = has_swish(eval.node);
  const FloatInput x(eval, kX), weights(eval, kWeights), bias(eval, kBias), past(eval, kPast);
  const FloatOutput y(eval.outputs[0]);
  const bool keeps = eval.outputs.size() > 1 && eval.outputs[1].data != nullptr;
  const FloatOutput present(eval.outputs[keeps ? 1 : 0]);
  if (length == 0 && (memory == 0 || !keeps)) return;
  for (s64 row = 0; row < dims_product(shape, 0, 2); ++row) {
    const s64 channel = row % shape[1];
    const Line line(x.data() + row * length, past ? past.data() + row * memory : nullptr, memory);
    for (s64 i = 0; i < length; ++i) {
      f32 sum =
          lane_sum(taps, [&](s64 k) { return weights[channel * taps + k] * line[i - memory + k]; });
      if (bias) sum += bias[channel];
      y[row * length + i] = swish ? sum * math_sigmoid(sum) : sum;
    }
    for (s64 i = 0; keeps && i < memory; ++i) present[row * memory + i] = line[length - memory + i];
  }
  y.store();
  if (keeps) present.store();
}

f64 work(const Node&, TensorTypes inputs, TensorTypes) {
  return element_count(inputs[kX].shape) * static_cast<f64>(inputs[kWeights].shape[2]);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kCausalConvWithState{.name = "CausalConvWithState",
                                                  .inputs = {2, 4},
                                                  .outputs = {1, 2},
                                                  .infer = infer,
                                                  .eval = eval,
                                                  .traits = &kTraits};
}  // namespace octet
