// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/arg_extreme.h"

#include "ops/attributes/reduction.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

struct Line {
  s64 length;
  s64 stride;
  bool largest;
  bool last;
};

template <class T>
s64 index_of_extreme(const Line& line, const T* src) {
  using W = Wide<T>;
  s64 best = 0;
  W extreme = static_cast<W>(src[0]);
  for (s64 i = 1; i < line.length; ++i) {
    const W x = static_cast<W>(src[i * line.stride]);
    const bool was_nan = extreme != extreme, is_nan = x != x;  // NOLINT: of integers, never
    const bool better = (line.largest ? x > extreme : x < extreme) || (is_nan && !was_nan);
    const bool equal = x == extreme || (is_nan && was_nan);
    if (better || (line.last && equal)) {
      best = i;
      extreme = x;
    }
  }
  return best;
}

}  // namespace

void infer_arg_extreme(Inference& inference) {
  require_dtype(inference, 0, DtypeClass::number);
  const Shape& input = inference.inputs[0].shape;
  const auto attributes = attributes_of<ArgExtremeAttributes>(inference.node);
  const int axis = normalize_axis(attributes.axis, input.rank());
  Shape output;
  for (int i = 0; i < input.rank(); ++i) {
    if (i != axis) output.push_back(input[i]);
    if (i == axis && attributes.keepdims) output.push_back(1);
  }
  if (input[axis] == 0 && output.elements() > 0) {
    fail(Error::Code::invalid_model, "axis {} of {} is empty and has no extreme", axis,
         to_string(input));
  }
  inference.output(Dtype::s64, output);
}

void eval_arg_extreme(const Eval& eval, bool largest) {
  const Shape& input = eval.inputs[0].shape;
  const auto dst = eval.outputs[0].as<s64>();
  if (dst.empty()) return;
  const auto attributes = attributes_of<ArgExtremeAttributes>(eval.node);
  const int axis = normalize_axis(attributes.axis, input.rank());
  const s64 inner = dims_product(input, axis + 1, input.rank());
  const Line line{input[axis], inner, largest, attributes.select_last_index};
  visit_number(eval.inputs[0].dtype, [&]<class T>() {
    const T* src = eval.inputs[0].as<T>().data();
    for (size_t i = 0; i < dst.size(); ++i) {
      const auto n = static_cast<s64>(i);
      dst[i] = index_of_extreme(line, src + n / inner * inner * line.length + n % inner);
    }
  });
}

}  // namespace octet
