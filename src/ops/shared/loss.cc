// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/loss.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

enum : size_t { kInput, kTarget, kWeight };

enum class LossReduction : u8 { mean, sum, none };

constexpr auto attribute_words(LossReduction) {
  return std::to_array<AttributeWord<LossReduction>>(
      {{"mean", LossReduction::mean}, {"sum", LossReduction::sum}, {"none", LossReduction::none}});
}

struct LossAttributes {
  std::optional<s64> ignore_index;
  LossReduction reduction = LossReduction::mean;

  OCTET_ATTRIBUTES(ignore_index, reduction)
};

struct Weighted {
  f32 loss = 0.0f;
  f32 weight = 0.0f;
};

// Of one target: nothing for the class that attribute ignore_index names.
class LossOf {
 public:
  LossOf(const Eval& eval, std::span<const f32> log_probabilities)
      : geometry_(loss_geometry(eval.inputs[kInput].shape)),
        log_probabilities_(log_probabilities),
        weights_(eval, kWeight),
        has_weights_(eval.has_input(kWeight)) {
    ignored_ = attribute_of<&LossAttributes::ignore_index>(eval.node);
  }

  Weighted operator()(s64 index, s64 target) const {
    if (ignored_ == target) return {};
    if (target < 0 || target >= geometry_.classes) {
      fail(Error::Code::invalid_argument, "a target is class {}, expected one of {}", target,
           geometry_.classes);
    }
    const s64 at = geometry_.at(index / geometry_.pixels, target, index % geometry_.pixels);
    const f32 weight = has_weights_ ? weights_[target] : 1.0f;
    return {-log_probabilities_[static_cast<size_t>(at)] * weight, weight};
  }

 private:
  LossGeometry geometry_;
  std::span<const f32> log_probabilities_;
  FloatInput weights_;
  bool has_weights_;
  std::optional<s64> ignored_;
};

}  // namespace

LossGeometry loss_geometry(const Shape& input) {
  return {input[0], input[1], dims_product(input, 2, input.rank())};
}

void infer_loss(Inference& inference) {
  const TensorType& input = inference.inputs[kInput];
  require_dtype(inference, kInput, DtypeClass::real);
  require_dtype(inference, kTarget, DtypeClass::index);
  if (input.shape.rank() < 2) {
    fail(Error::Code::invalid_model, "the input is {}, expected a batch and classes",
         to_string(input));
  }
  Shape targets{input.shape[0]};
  for (int i = 2; i < input.shape.rank(); ++i) targets.push_back(input.shape[i]);
  if (inference.inputs[kTarget].shape != targets) {
    fail(Error::Code::invalid_model, "the targets are {}, expected {}",
         to_string(inference.inputs[kTarget]), to_string(targets));
  }
  if (inference.has_input(kWeight)) {
    require_dtype(inference, kWeight, DtypeClass::real);
    if (inference.inputs[kWeight].shape != Shape{input.shape[1]}) {
      fail(Error::Code::invalid_model, "the weights are {}, expected one for each of {} classes",
           to_string(inference.inputs[kWeight]), input.shape[1]);
    }
  }
  const LossReduction reduction = attributes_of<LossAttributes>(inference.node).reduction;
  const bool each = reduction == LossReduction::none;
  inference.output(input.dtype, each ? targets : Shape{});
}

void eval_loss(const Eval& eval, std::span<const f32> log_probabilities) {
  const LossOf loss_of(eval, log_probabilities);
  const auto reduction = attribute_of<&LossAttributes::reduction>(eval.node);
  const std::vector<s64> targets = read_ints(eval, kTarget);
  const FloatOutput y(eval.outputs[0]);
  Weighted sum;
  for (s64 i = 0; i < std::ssize(targets); ++i) {
    const Weighted one = loss_of(i, targets[static_cast<size_t>(i)]);
    if (reduction == LossReduction::none) y[i] = one.loss;
    sum.loss += one.loss;
    sum.weight += one.weight;
  }
  if (reduction == LossReduction::sum) y[0] = sum.loss;
  if (reduction == LossReduction::mean) y[0] = sum.loss / sum.weight;
  y.store();
}

}  // namespace octet
