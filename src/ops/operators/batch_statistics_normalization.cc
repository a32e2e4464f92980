// SPDX-License-Identifier: Apache-2.0
// BatchNormalization with training_mode=1: every channel is normalized by the batch's own mean and variance, and the given
// running statistics move towards those. Outputs Y, running_mean, running_var; before opset 14 also what was measured, the mean and 1 / deviation.
#include <cmath>

#include "core/check.h"
#include "graph/op_def.h"
#include "ops/attributes/normalization.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/normalize.h"

namespace octet {
namespace {

enum : size_t { kX, kScale, kBias, kMean, kVariance };

struct BatchStatisticsAttributes : NormAttributes {
  f32 momentum = 0.9f;

  OCTET_MORE_ATTRIBUTES(NormAttributes, momentum)
};

void infer(Inference& inference) {
  const Shape& x = inference.inputs[kX].shape;
  require_dtype(inference, kX, DtypeClass::real);
  attributes_of<BatchStatisticsAttributes>(inference.node);
  if (x.rank() < 2) {
    fail(Error::Code::invalid_model, "the input is {}, expected a batch and channels",
         to_string(x));
  }
  for (size_t i = kScale; i <= kVariance; ++i) {
    require_dtype(inference, i, DtypeClass::real);
    if (inference.inputs[i].shape == Shape{x[1]}) continue;
    fail(Error::Code::invalid_model, "input {} is {}, expected one value for each of {} channels",
         i, to_string(inference.inputs[i]), x[1]);
  }
  inference.same_as_input(kX);
  for (size_t i = 1; i < inference.node.outputs.size(); ++i) {
    inference.output(inference.inputs[kMean + (i - 1) % 2].dtype, Shape{x[1]});
  }
}

struct Statistics {
  f64 mean = 0.0;
  f64 variance = 0.0;
};

// Of one channel of [images, channels, pixels], in f64.
Statistics statistics(const FloatInput& x, const Shape& shape, s64 channel) {
  const s64 pixels = dims_product(shape, 2, shape.rank());
  const auto sum = [&](auto f) {
    f64 total = 0.0;
    for (s64 image = 0; image < shape[0]; ++image) {
      const s64 first = (image * shape[1] + channel) * pixels;
      for (s64 i = first; i < first + pixels; ++i) total += f(static_cast<f64>(x[i]));
    }
    return total / static_cast<f64>(shape[0] * pixels);
  };
  Statistics result;
  result.mean = sum([](f64 value) { return value; });
  result.variance = sum([&](f64 v) { return (v - result.mean) * (v - result.mean); });
  return result;
}

// output i = given * momentum + measured * (1 - momentum)
void move_running(const Eval& eval, size_t i, std::span<const f32> measured) {
  if (eval.outputs.size() <= i || eval.outputs[i].data == nullptr) return;
  const f32 momentum = attribute_of<&BatchStatisticsAttributes::momentum>(eval.node);
  const FloatInput given(eval, kMean + i - 1);
  const FloatOutput running(eval.outputs[i]);
  for (s64 c = 0; c < std::ssize(measured); ++c) {
    running[c] = given[c] * momentum + measured[static_cast<size_t>(c)] * (1.0f - momentum);
  }
  running.store();
}

void save(const Eval& eval, size_t i, std::span<const f32> measured) {
  if (eval.outputs.size() <= i || eval.outputs[i].data == nullptr) return;
  const FloatOutput saved(eval.outputs[i]);
  for (s64 c = 0; c < std::ssize(measured); ++c) saved[c] = measured[static_cast<size_t>(c)];
  saved.store();
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[kX].shape;
  const f32 epsilon = attribute_of<&BatchStatisticsAttributes::epsilon>(eval.node);
  const s64 pixels = dims_product(shape, 2, shape.rank());
  const FloatInput x(eval, kX), scale(eval, kScale), bias(eval, kBias);
  const FloatOutput y(eval.outputs[0]);
  std::vector<f32> means, variances, scales;
  for (s64 c = 0; c < shape[1]; ++c) {
    const Statistics measured = statistics(x, shape, c);
    means.push_back(static_cast<f32>(measured.mean));
    variances.push_back(static_cast<f32>(measured.variance));
    scales.push_back(1.0f / std::sqrt(variances.back() + epsilon));
    const Moments m{means.back(), scales.back()};
    for (s64 i = 0; i < shape[0] * pixels; ++i) {
      const s64 at = (i / pixels * shape[1] + c) * pixels + i % pixels;
      y[at] = normalize(x[at], m, scale[c], bias[c]);
    }
  }
  y.store();
  move_running(eval, 1, means);
  move_running(eval, 2, variances);
  save(eval, 3, means);
  save(eval, 4, scales);
}

}  // namespace

extern constinit const OpDef kBatchStatisticsNormalization{.name = "BatchStatisticsNormalization",
                                                           .domain = "octet",
                                                           .inputs = {5, 5},
                                                           .outputs = {1, 5},
                                                           .infer = infer,
                                                           .eval = eval};
}  // namespace octet
