// SPDX-License-Identifier: Apache-2.0
// QReduceMean: s32 sum of x - zp_x over `axes` (all when absent), one multiply.
#include <vector>

#include "ops/attributes/reduction.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/forms_of_codes.h"
#include "ops/quantized/mean_scales.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

struct Reduction {
  std::vector<s64> strides;  // of each input axis in the output; 0 where reduced
  Shape output;
  s64 count = 1;  // input elements of each output
};

Reduction reduction_of(const Node& node, const Shape& x) {
  const auto attributes = attributes_of<QReduceMeanAttributes>(node);
  std::vector<bool> reduced(static_cast<size_t>(x.rank()), !attributes.axes);
  for (int axis : normalize_axes(attributes.axes.value_or(std::vector<s64>{}), x.rank())) {
    reduced[static_cast<size_t>(axis)] = true;
  }
  Reduction reduction;
  reduction.strides.resize(reduced.size(), 0);
  s64 stride = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    if (reduced[static_cast<size_t>(i)]) continue;
    reduction.strides[static_cast<size_t>(i)] = stride;
    stride = static_cast<s64>(static_cast<u64>(stride) * static_cast<u64>(x[i]));
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      reduction.output.push_back(x[i]);
    } else if (attributes.keepdims) {
      reduction.output.push_back(1);
    }
  }
  reduction.count = stride == 0 ? 0 : x.elements() / stride;
  return reduction;
}

void infer(Inference& inference) {
  const TensorType& x = input_of_codes(inference);
  x.shape.elements();
  mean_scales(inference.node);
  infer_code_output(inference, reduction_of(inference.node, x.shape).output);
}

void eval(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const Reduction reduction = reduction_of(eval.node, shape);
  const Epilogue epilogue = epilogue_of(eval.node);
  const auto codes = centered_codes(eval.inputs[0], epilogue.zero_point(0));
  std::vector<s64> sums(static_cast<size_t>(eval.outputs[0].shape.elements()), 0);
  for (size_t i = 0; i < codes.size(); ++i) {
    s64 rest = static_cast<s64>(i);
    s64 output = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      output += rest % shape[axis] * reduction.strides[static_cast<size_t>(axis)];
      rest /= shape[axis];
    }
    sums[static_cast<size_t>(output)] += codes[i];
  }
  const f32 multiplier =
      reduction.count == 0 ? 0.0f : mean_scales(eval.node).multiplier(reduction.count);
  for (size_t i = 0; i < sums.size(); ++i) {
    store_code(eval.outputs[0], i, to_code(epilogue, static_cast<f32>(sums[i]) * multiplier));
  }
}

}  // namespace

extern constinit const OpDef kQReduceMean = on_codes("QReduceMean", {1, 1}, infer, eval);
}  // namespace octet
