// SPDX-License-Identifier: Apache-2.0
// NonZero(x): the indices of the elements that differ from 0 in row-major order, one column each: [rank, count].
#include <array>

#include "graph/op_def.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

void infer(Inference& inference) {
  inference.output(Dtype::s64, {inference.inputs[0].shape.rank(), Shape::kDynamic});
}

template <class T>
bool is_set(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else {
    return static_cast<Wide<T>>(value) != Wide<T>{0};
  }
}

template <class T>
void non_zero(const Eval& eval) {
  const Shape& shape = eval.inputs[0].shape;
  const auto x = eval.inputs[0].as<T>();
  s64 count = 0;
  for (T value : x) count += is_set(value) ? 1 : 0;
  s64* at = eval.make(0, {Dtype::s64, {shape.rank(), count}}).as<s64>().data();
  if (shape.rank() == 0) return;
  std::array<s64, Shape::kMaxRank> index{};
  for (T value : x) {
    if (is_set(value)) {
      for (int d = 0; d < shape.rank(); ++d) at[d * count] = index[static_cast<size_t>(d)];
      ++at;
    }
    for (int d = shape.rank() - 1; d >= 0 && ++index[static_cast<size_t>(d)] == shape[d]; --d) {
      index[static_cast<size_t>(d)] = 0;
    }
  }
}

void eval(const Eval& eval) {
  visit_dtype(eval.inputs[0].dtype, [&]<class T>() { non_zero<T>(eval); });
}

}  // namespace

extern constinit const OpDef kNonZero{.name = "NonZero", .infer = infer, .eval = eval};
}  // namespace octet
