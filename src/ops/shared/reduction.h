// SPDX-License-Identifier: Apache-2.0
// What the reduction operators share: Reduce*(x, axes?) {keepdims=1, noop_with_empty_axes=0}. A reduction's file adds how one
// row of elements becomes one. Private to src/ops.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/reduce.h"
#include "graph/op_def.h"
#include "ops/shared/dtypes.h"

namespace octet {

// The attribute `axes` of older opsets becomes input 1.
void parse_reduction(NodeParser& parser);
// GlobalAveragePool and GlobalMaxPool are reductions of all axes from 2 on.
void parse_global_pool(NodeParser& parser, std::string_view reduction);

void infer_reduction(Inference& inference);       // of numbers
void infer_real_reduction(Inference& inference);  // of a float type
void infer_any_reduction(Inference& inference);   // bool too

// The input with the reduced axes last: `count` rows of `length` elements, one for each output element.
struct ReductionRows {
  std::vector<std::byte> moved;  // backs `data` where the axes had to move
  const void* data = nullptr;
  s64 count = 0;
  s64 length = 0;
};
ReductionRows reduction_rows(const Eval& eval);

// The sum of f(x) over a row in the arithmetic of Wide<T>; 16 lanes for f32.
template <class T, class F>
Wide<T> row_sum(std::span<const T> row, F f) {
  using W = Wide<T>;
  if constexpr (std::is_same_v<W, f32>) {
    return lane_sum(static_cast<s64>(row.size()),
                    [&](s64 i) { return f(static_cast<f32>(row[static_cast<size_t>(i)])); });
  } else {
    W sum{};
    for (const T x : row) sum = wrapping_add(sum, f(static_cast<W>(x)));
    return sum;
  }
}

template <class T, class F>
void reduce_rows(const Eval& eval, F reduce) {
  const ReductionRows rows = reduction_rows(eval);
  const T* row = static_cast<const T*>(rows.data);
  T* dst = eval.outputs[0].as<T>().data();
  for (s64 i = 0; i < rows.count; ++i, row += rows.length) {
    dst[i] = narrow<T>(reduce(std::span<const T>(row, static_cast<size_t>(rows.length))));
  }
}

// reduce(span<const T>) -> Wide<T> for every numeric, or every float dtype.
template <class F>
void eval_reduction(const Eval& eval, F reduce) {
  visit_number(eval.outputs[0].dtype, [&]<class T>() { reduce_rows<T>(eval, reduce); });
}
template <class F>
void eval_real_reduction(const Eval& eval, F reduce) {
  visit_real(eval.outputs[0].dtype, [&]<class T>() { reduce_rows<T>(eval, reduce); });
}

}  // namespace octet
